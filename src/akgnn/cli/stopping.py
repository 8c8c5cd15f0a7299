"""Ctrl-C and SIGTERM as a request to stop after the present epoch."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Inside, the first SIGINT or SIGTERM is only noted; the function given says whether it came.

    A second one ends the program as usual.
    """
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        restore()

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in before:
        signal.signal(number, note)
    try:
        yield lambda: came
    finally:
        restore()
