"""Signals that end a command as Ctrl-C does, so that it cleans up and says so."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType

# Windows has no SIGHUP.
ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""The signals of Ctrl-C, of `kill`, and of a terminal that was closed."""
# Seconds for which another signal does not disturb the cleaning up.
_CLEANING = 3.0
# What a program finds where nobody chose otherwise, such as `nohup`.
_USUAL = (signal.SIG_DFL, signal.default_int_handler)


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """Inside, each of these signals raises `KeyboardInterrupt`; the next ones wait a little.

    Processes that torchrun started are left to whoever started them.
    """
    is_main = threading.current_thread() is threading.main_thread()
    numbers = ENDING if is_main and "RANK" not in os.environ else ()
    before = {number: signal.getsignal(number) for number in numbers}
    before = {number: handler for number, handler in before.items() if handler in _USUAL}
    came = -_CLEANING

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if monotonic() - came >= _CLEANING:
            came = monotonic()
            raise KeyboardInterrupt

    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
