"""Accuracy by number of layers, one panel a graph."""

from collections.abc import Sequence

from akgnn.data.catalogue import graph_name
from akgnn.experiments.results import CellResult
from akgnn.report.panel import Panel
from akgnn.report.values import spread
from akgnn.training.summary import Summary, summarise


def depth_panels(results: Sequence[CellResult]) -> list[Panel]:
    """A panel for every row and graph: training and test accuracy over K."""
    groups: dict[tuple[str, str], dict[int, CellResult]] = {}
    for result in results:
        depth = result.cell.changes.get("num_layers")
        if isinstance(depth, int):
            groups.setdefault((result.cell.row.label, result.cell.dataset), {})[depth] = result
    several = len({label for label, _ in groups}) > 1
    return [
        _panel(label, graph_name(dataset), dict(sorted(group.items())), several)
        for (label, dataset), group in groups.items()
    ]


def _panel(label: str, name: str, group: dict[int, CellResult], several: bool) -> Panel:
    curves = {
        part: [_summary(result, f"{part}_accuracy") for result in group.values()]
        for part in ("train", "test")
    }
    test = {depth: summary.mean for depth, summary in zip(group, curves["test"], strict=True)}
    best = max(test, key=lambda depth: test[depth])
    first, last = min(test), max(test)
    return Panel(
        title=f"{label}, {name}" if several else name,
        summary=f"{label} on {name}: the mean test accuracy is highest, {test[best]:.1f} %, at "
        f"K = {best}; it is {test[first]:.1f} % at K = {first} and {test[last]:.1f} % "
        f"at K = {last}.",
        columns=("K", "seeds", "training accuracy", "test accuracy"),
        rows=[
            (f"{depth}", f"{len(result.finished)}", *(spread(s.mean, s.std) for s in pair))
            for (depth, result), *pair in zip(
                group.items(), curves["train"], curves["test"], strict=True
            )
        ],
        drawn={
            "depths": list(group),
            **{part: _drawn(summaries) for part, summaries in curves.items()},
        },
    )


def _summary(result: CellResult, metric: str) -> Summary:
    return summarise([record.metrics.get(metric, float("nan")) for record in result.finished])


def _drawn(summaries: Sequence[Summary]) -> dict[str, list[float | None]]:
    """Means and deviations; one seed alone has no band."""
    return {
        "mean": [round(summary.mean, 3) for summary in summaries],
        "std": [round(s.std, 3) if s.std == s.std else 0.0 for s in summaries],
    }
