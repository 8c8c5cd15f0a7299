"""λ of each layer for networks of several depths, one panel a graph."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from akgnn.experiments.results import CellResult
from akgnn.report.panel import Group, Panel, groups_of
from akgnn.report.values import count


def lambda_panels(results: Sequence[CellResult]) -> list[Panel]:
    """A panel for every row and graph: a line of λ for each number of layers K."""
    panels = []
    for group in groups_of(results):
        means = {len(mean): mean for mean in map(mean_lambda, group.results) if mean}
        if means:
            panels.append(_panel(group, dict(sorted(means.items()))))
    return panels


def mean_lambda(result: CellResult) -> list[float]:
    """λ of each layer, mean over the seeds; empty for a model without λ."""
    rows = [record.lambda_max for record in result.finished if record.lambda_max]
    if not rows or len({len(row) for row in rows}) > 1:
        return []
    return [round(float(value), 4) for value in np.mean(rows, axis=0)]


def _panel(group: Group, means: dict[int, list[float]]) -> Panel:
    deepest = max(means)
    return Panel(
        title=group.title,
        summary=_said(group, means),
        columns=("K", *(f"layer {k}" for k in range(1, deepest + 1))),
        rows=[
            (f"{depth}", *(f"{value:.2f}" for value in values), *[""] * (deepest - depth))
            for depth, values in means.items()
        ],
        drawn={"depths": list(means), "values": list(means.values())},
    )


def _said(group: Group, means: dict[int, list[float]]) -> str:
    first = [values[0] for values in means.values()]
    deep = {depth: values for depth, values in means.items() if depth > 1}
    falls = sum(all(a > b for a, b in pairwise(v)) for v in deep.values())
    seeds = max(len(result.finished) for result in group.results)
    text = (
        f"{group.label} on {group.title}, {count(seeds, 'seed')}: λ of the first layer lies "
        f"between {min(first):.2f} and {max(first):.2f}"
    )
    if deep:
        deepest = max(deep)
        text += (
            f"; with K = {deepest} it goes from {deep[deepest][0]:.2f} to {deep[deepest][-1]:.2f}; "
            f"it falls from every layer to the next in {falls} of {len(deep)} networks"
        )
    return text + "."
