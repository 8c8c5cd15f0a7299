"""One panel of a figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Panel:
    """One panel.

    Attributes:
        title: Above it.
        summary: What it shows, in words, for those who cannot see it.
        columns: Headings of its numbers.
        rows: Its numbers as text.
        drawn: What the script needs to draw it.
    """

    title: str
    summary: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    drawn: Mapping[str, Any]
