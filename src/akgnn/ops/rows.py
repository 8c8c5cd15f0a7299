"""Which nodes and channels a signal has, and how sums over nodes are made.

Usually row i is node i, all channels are there, and a sum over nodes is torch's own. Contexts
change that for all ops inside of them: `at_nodes`, where signals have the rows of some nodes alone;
`divided`, where they have those of a few parts of the graph, and other processes may have the rest;
`sliced`, where a model computes a slice of its channels, and other processes the rest;
`at_channels`, where signals have some channels alone.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, Protocol, TypeVar

from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")


class Division(Protocol):
    """Rows in parts, some of which other processes may hold.

    **A part is the unit of every sum over nodes.** Each has a sum of its own, and these are added
    up in one order, whoever holds them. So the number of processes changes no bit.
    """

    @property
    def blocks(self) -> Sequence[slice]:
        """The rows of each part that is here, in the order of the parts."""
        ...

    def total(self, sums: Tensor) -> Tensor:
        """The sum over all parts of all processes; `sums` has a row for each part that is here."""
        ...

    def gathered(self, rows: Tensor) -> Tensor:
        """The rows of all processes, in the order of the parts."""
        ...

    def selected(self, rows: Tensor) -> "Division":
        """The division of some rows, given by their numbers, which rise."""
        ...


class Slices(Protocol):
    """Slices of a model's channels, of which this process has one and others have the rest."""

    def own(self, channels: int, unit: int) -> slice:
        """The channels of this process, of so many, which are cut at multiples of the unit."""
        ...

    def total(self, share: Tensor) -> Tensor:
        """The sum of what each slice has, added up in their order; the same for all of them."""
        ...


@dataclass(frozen=True, eq=False)
class Rows:
    """What the rows of signals are.

    Attributes:
        ids: The number of each row's node in the whole graph, which masks follow.
        division: How sums over nodes are made; None for torch's own.
    """

    ids: Tensor
    division: Division | None = None


_ROWS: ContextVar[Rows | None] = ContextVar("rows", default=None)
_CHANNELS: ContextVar[tuple[int, int] | None] = ContextVar("channels", default=None)
_SLICES: ContextVar[Slices | None] = ContextVar("slices", default=None)


def row_ids() -> Tensor | None:
    """The number of each row's node in the whole graph; None where row i is node i."""
    rows = _ROWS.get()
    return None if rows is None else rows.ids


def current_division() -> Division | None:
    """How sums over nodes are made; None for torch's own."""
    rows = _ROWS.get()
    return None if rows is None else rows.division


@contextmanager
def divided(ids: Tensor, division: Division) -> Iterator[None]:
    """Inside, rows are those of some parts of the graph."""
    with _rows(Rows(ids, division)):
        yield


@contextmanager
def at_nodes(nodes: Tensor) -> Iterator[None]:
    """Inside, signals have the rows of these nodes alone, given by the numbers they had before."""
    before = _ROWS.get()
    if before is None:
        here = Rows(nodes)
    else:
        division = before.division
        here = Rows(before.ids[nodes], None if division is None else division.selected(nodes))
    with _rows(here):
        yield


@contextmanager
def sliced(slices: Slices | None) -> Iterator[None]:
    """Inside, models compute their slice of the channels alone; all of them without slices."""
    token = _SLICES.set(slices)
    try:
        yield
    finally:
        _SLICES.reset(token)


def current_slices() -> Slices | None:
    """The slices of the channels; None where all are here."""
    return _SLICES.get()


@contextmanager
def at_channels(first: int, width: int) -> Iterator[None]:
    """Inside, signals have some of `width` channels, from number `first` on, a multiple of 4."""
    token = _CHANNELS.set((first, width))
    try:
        yield
    finally:
        _CHANNELS.reset(token)


def channel_window() -> tuple[int, int] | None:
    """The first channel of signals, and how many there are in all; None where they have all."""
    return _CHANNELS.get()


@contextmanager
def _rows(rows: Rows) -> Iterator[None]:
    token = _ROWS.set(rows)
    try:
        yield
    finally:
        _ROWS.reset(token)


def everywhere(rows: Tensor, nodes: Tensor) -> Tensor:
    """The rows of `nodes`, given, with those that other processes have of theirs."""
    division = current_division()
    return rows if division is None else division.selected(nodes).gathered(rows)


def remembering(function: Callable[P, R]) -> Callable[P, R]:
    """The function as it would be called here: in the contexts of now, whenever that is.

    A backward pass computes some things again, after contexts have ended or in another thread.
    """
    return partial(copy_context().run, function)
