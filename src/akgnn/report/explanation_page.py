"""The page of explanations: for every node the picture, with all its numbers in tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from akgnn.explain.explanation import Explanation, Neighbour
from akgnn.explain.picture import KEY, bare_picture
from akgnn.explain.sentences import (
    EXPLAINED,
    called,
    changed_class,
    class_of,
    class_sentences,
    distances,
    not_looked_at,
)
from akgnn.report.html import Page
from akgnn.report.values import count
from akgnn.runs.run import Run


@dataclass(frozen=True)
class Shown:
    """An explanation as the template has it."""

    found: Explanation
    wide: str
    narrow: str

    @property
    def sentences(self) -> list[str]:
        """What is told above the picture."""
        return [*class_sentences(self.found), *filter(None, [not_looked_at(self.found)])]

    @property
    def neighbours(self) -> list[tuple[Neighbour, tuple[str, str], str]]:
        """Every neighbour that was looked at, its class and the class without it."""
        found = self.found
        return [
            (each, class_of(each.facts), changed_class(each, found)) for each in found.neighbours
        ]

    @property
    def distances(self) -> list[tuple[str, float]]:
        """What features add by distance."""
        return distances(self.found)


def explanation_page(found: Sequence[Explanation], run: Run, *, top: int) -> Page:
    """The page of nodes that a run was asked about.

    Args:
        found: One a node.
        run: The run whose model they explain.
        top: How many neighbours of each are drawn; the tables have all that were looked at.
    """
    from markupsafe import Markup

    def drawn(each: Explanation, narrow: bool) -> str:
        # All names in it are escaped.
        return Markup(bare_picture(each, top=top, narrow=narrow))

    title = f"Why {count(len(found), 'node')} of {run.plan.data_name} get their class"
    if len(found) == 1:
        title = f"Why node {found[0].facts.name} is {called(found[0].predicted.name)}"
    settings = run.plan.run
    shown: dict[str, Any] = {
        "heading": title,
        "model": f"{run.name}, {settings.seeds}",
        "data": run.plan.data_name,
        "nodes": [Shown(each, drawn(each, False), drawn(each, True)) for each in found],
        "explained": [KEY, *EXPLAINED],
        "called": called,
        "class_of": class_of,
    }
    counts = {"nodes": len(found)}
    return Page(title, "explanation.html", shown, figures=(), responses=(), counts=counts)
