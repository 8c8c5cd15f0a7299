"""A page: its template, what the template shows, and what the script draws."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from akgnn.report.figures import Figure
from akgnn.report.response import Response


@dataclass(frozen=True)
class Page:
    """A page before it is HTML.

    Attributes:
        title: Of the document.
        template: Name of the template's file.
        shown: The template's variables, beside the figures and responses.
        figures: In reading order.
        responses: One a graph.
        warnings: What whoever made the page should know.
        counts: A few numbers that say what is on the page.
    """

    title: str
    template: str
    shown: Mapping[str, Any]
    figures: tuple[Figure, ...]
    responses: tuple[Response, ...]
    warnings: tuple[str, ...]
    counts: Mapping[str, Any]

    @property
    def drawn(self) -> dict[str, Any]:
        """What the script needs to draw the charts."""
        return {
            "figures": {f.name: {"kind": f.kind, "panels": f.drawn()} for f in self.figures},
            "responses": [response.drawn() for response in self.responses],
        }
