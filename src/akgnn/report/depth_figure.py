"""Accuracy by number of layers, one panel a graph."""

from collections.abc import Sequence

from akgnn.experiments.results import CellResult
from akgnn.report.panel import Group, Panel, groups_of
from akgnn.report.values import spread
from akgnn.training.summary import Summary, summarise


def depth_panels(results: Sequence[CellResult]) -> list[Panel]:
    """A panel for every row and graph: training and test accuracy over K."""
    return [_panel(group) for group in groups_of([r for r in results if _depth(r)])]


def _depth(result: CellResult) -> int:
    """K; 0 where a row does not say it."""
    depth = result.cell.changes.get("num_layers")
    return depth if isinstance(depth, int) else 0


def _panel(group: Group) -> Panel:
    by_depth = {_depth(result): result for result in sorted(group.results, key=_depth)}
    curves = {
        part: [_summary(result, f"{part}_accuracy") for result in by_depth.values()]
        for part in ("train", "test")
    }
    test = {depth: summary.mean for depth, summary in zip(by_depth, curves["test"], strict=True)}
    best = max(test, key=lambda depth: test[depth])
    first, last = min(test), max(test)
    return Panel(
        title=group.title,
        summary=f"{group.label} on {group.graph}: the mean test accuracy is highest, "
        f"{test[best]:.1f} %, at K = {best}; it is {test[first]:.1f} % at K = {first} and "
        f"{test[last]:.1f} % at K = {last}.",
        columns=("K", "seeds", "training accuracy", "test accuracy"),
        rows=[
            (f"{depth}", f"{len(result.finished)}", *(spread(s.mean, s.std) for s in pair))
            for (depth, result), *pair in zip(
                by_depth.items(), curves["train"], curves["test"], strict=True
            )
        ],
        drawn={
            "depths": list(by_depth),
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
