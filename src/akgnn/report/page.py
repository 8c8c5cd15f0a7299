"""A page: its template, what the template shows, and what the script draws."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Page:
    """A page before it is HTML.

    Attributes:
        title: Of the document.
        template: Name of the template's file.
        shown: The template's variables.
        drawn: What the script needs to draw the charts.
        warnings: What whoever made the page should know.
        counts: A few numbers that say what is on the page.
    """

    title: str
    template: str
    shown: Mapping[str, Any]
    drawn: Mapping[str, Any]
    warnings: tuple[str, ...]
    counts: Mapping[str, Any]
