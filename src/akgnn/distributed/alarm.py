"""What processes tell each other when something goes wrong: whose error it is, or who is missing.

A collective that fails names an address, or nobody, and some processes learn of it only when their
own time-out is over. So each has a thread that waits for an alarm at the store where they met; it
answers while the process itself waits in a collective.
"""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Protocol

from akgnn.distributed.group import described, error_from
from akgnn.errors import AkgnnError, FailedRunsError

# Who has not answered an alarm after so many seconds is missing.
_ROLL_SECONDS = 1.0
# How long to wait for the store, which lies in process 0 and may be gone with it.
_STORE_SECONDS = 1.8
# Milliseconds of more would not fit into 31 bits.
_LONG = timedelta(days=20)
# What is in the store; the last three by rank.
_ALARM, _VERDICT = "akgnn/alarm", "akgnn/verdict"
_HERE, _HEARD, _ENDED = "akgnn/here", "akgnn/heard", "akgnn/ended"


class Store(Protocol):
    """What is needed of torch's stores, whose types do not say all that they have."""

    def set(self, key: str, value: str) -> None:
        """Set a key."""
        ...

    def get(self, key: str) -> bytes:
        """The value of a key."""
        ...

    def check(self, keys: list[str]) -> bool:
        """Whether keys are set."""
        ...

    def compare_set(self, key: str, expected: str, value: str) -> bytes:
        """Set a key that has the expected value, or none where that is empty; its value then."""
        ...

    def wait(self, keys: list[str], timeout: timedelta) -> None:
        """Wait until keys are set."""
        ...

    def clone(self) -> "Store":
        """The same store for another thread."""
        ...


class Alarm:
    """One process's end of it.

    Args:
        store: Where the processes met.
        rank: The number of this process.
        size: How many there are.
    """

    def __init__(self, store: Store, rank: int, size: int) -> None:
        self._store = store
        self._rank, self._size = rank, size
        self._verdict: bytes = b""
        # Stores are not for two threads at once.
        own = self._store.clone()
        self._listener = threading.Thread(target=lambda: self._listen(own), daemon=True)
        self._listener.start()

    def tell(self, error: Exception) -> AkgnnError | None:
        """Tell the others of an error of this process, which they then raise too.

        Returns:
            What they raise, with the number of this process; None where they would not know what it
            is.
        """
        words = described(error, self._rank if self._size > 1 else None)
        self._raise_alarm(lambda store: words)
        known = error_from(words)
        return None if isinstance(known, FailedRunsError) else known

    def end(self) -> None:
        """All is well: let the threads go, and process 0, which has the store, as the last."""

        def all_well(store: Store) -> bytes:
            self._missing(store, _ENDED, _ROLL_SECONDS)
            return b""

        _within(_STORE_SECONDS, lambda: self._store.set(f"{_ENDED}/{self._rank}", ""))
        if self._rank == 0:
            self._raise_alarm(all_well)
        self._listener.join(_STORE_SECONDS)

    def verdict(self, cause: str) -> AkgnnError:
        """What to raise where a collective failed: the error of another, or who is missing.

        Args:
            cause: What the collective said.
        """

        def missing(store: Store) -> bytes:
            return described(_lost(self._missing(store, _HERE, _ROLL_SECONDS), cause))

        self._raise_alarm(missing)
        if self._verdict:
            return error_from(self._verdict)
        # Nobody answered: the store is in process 0.
        return _lost([0] if self._rank else [], cause)

    def _listen(self, store: Store) -> None:
        """Wait for an alarm, answer it, and remember what it was for."""
        try:
            store.wait([_ALARM], _LONG)
            store.set(f"{_HERE}/{self._rank}", "")
            store.wait([_VERDICT], timedelta(seconds=1.5 * _ROLL_SECONDS))
            self._verdict = store.get(_VERDICT)
            store.set(f"{_HEARD}/{self._rank}", "")
        except RuntimeError:
            # The store is gone, and process 0 with it; or it is a very long training.
            return

    def _raise_alarm(self, words: Callable[[Store], bytes]) -> None:
        """Raise the alarm, if nobody has yet, and wait until its cause is known to all."""

        def tell() -> None:
            first = self._store.compare_set(_ALARM, "", str(self._rank))
            if first == str(self._rank).encode():
                self._store.set(_VERDICT, words(self._store).decode())
            if self._rank == 0:
                self._missing(self._store, _HEARD, _ROLL_SECONDS / 2)

        start = time.monotonic()
        _within(_STORE_SECONDS, tell)
        self._listener.join(max(0.0, start + _STORE_SECONDS - time.monotonic()))

    def _missing(self, store: Store, key: str, seconds: float) -> list[int]:
        """Processes that have not set their key after so many seconds."""
        end = time.monotonic() + seconds
        missing = list(range(self._size))
        while missing and time.monotonic() < end:
            missing = [rank for rank in missing if not store.check([f"{key}/{rank}"])]
            time.sleep(0.01 if missing else 0.0)
        return missing


def _lost(missing: Sequence[int], cause: str) -> FailedRunsError:
    stays = "What was kept stays; `resume=True` goes on."
    if not missing:
        return FailedRunsError(f"Processes lost each other, though all answer: {cause}. {stays}")
    names = ", ".join(map(str, missing))
    who = f"Processes {names} are" if len(missing) > 1 else f"Process {names} is"
    return FailedRunsError(f"{who} gone, or silent. {stays}")


def _within(seconds: float, do: Callable[[], object]) -> None:
    """Do something that may take forever, and leave it alone after so many seconds.

    A store on a stopped process, or behind a cut link, answers to no time-out of its own.
    """

    def begin() -> None:
        try:
            do()
        except RuntimeError:
            # The store is gone; whoever asked finds no verdict.
            return

    thread = threading.Thread(target=begin, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        # There is no memory for one, which may be what is to be told.
        begin()
    else:
        thread.join(seconds)
