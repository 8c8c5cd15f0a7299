"""Panels of a figure: loss by epoch, λ by layer, accuracy by depth."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from akgnn.data.catalogue import graph_name
from akgnn.experiments.results import CellResult
from akgnn.experiments.statistics import Summary, summarise
from akgnn.report.values import count, number, spread
from akgnn.training.history import History

# So many epochs are listed in a panel's table, and drawn.
_LISTED = 12
_DRAWN = 100
# Where no curve between -1 and 1 moves by more, there is nothing to see.
_STILL = 0.02


@dataclass(frozen=True)
class Panel:
    """One panel: its numbers as text, and what the script needs to draw it.

    `summary` says what it shows to those who cannot see it, and to all where nothing is drawn.
    `key` names its lines, where each panel has its own; they follow the order of the colours.
    """

    title: str
    summary: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    drawn: Mapping[str, Any]
    key: Sequence[str] = ()


@dataclass(frozen=True)
class Group:
    """The results of one row on one graph, which one panel shows."""

    label: str
    graph: str
    title: str
    results: tuple[CellResult, ...]


def groups_of(results: Sequence[CellResult]) -> list[Group]:
    """The results by row and graph; titles name the row where the figure has several."""
    found: dict[tuple[str, str], list[CellResult]] = {}
    for result in results:
        key = result.cell.row.label, graph_name(result.cell.dataset)
        found.setdefault(key, []).append(result)
    several = len({label for label, _ in found}) > 1
    return [
        Group(label, graph, f"{label}, {graph}" if several else graph, tuple(group))
        for (label, graph), group in found.items()
    ]


def drawn_means(summaries: Iterable[Summary]) -> dict[str, list[float]]:
    """Means and deviations for the script; one run alone has no band."""
    known = [(round(s.mean, 3), round(s.std, 3) if s.std == s.std else 0.0) for s in summaries]
    return {"mean": [mean for mean, _ in known], "std": [std for _, std in known]}


@dataclass(frozen=True)
class Band:
    """A curve by epoch with its quartiles."""

    low: list[float]
    mid: list[float]
    high: list[float]


def loss_panels(results: Sequence[CellResult]) -> list[Panel]:
    """A panel for every variant whose records keep their epochs."""
    several = len({result.cell.dataset for result in results}) > 1
    kept = [(result, [r.history for r in result.finished if r.history]) for result in results]
    return [_loss_panel(result, histories, several) for result, histories in kept if histories]


def common_epochs(lengths: Sequence[int]) -> int:
    """The last epoch that at least half of the seeds reach."""
    return sorted(lengths, reverse=True)[(len(lengths) + 1) // 2 - 1]


def evenly(epochs: int, most: int) -> list[int]:
    """At most so many of the epochs, counted from 0, the first and the last among them."""
    return sorted({*np.linspace(0, epochs - 1, min(most, epochs)).astype(int).tolist()})


def band(curves: Sequence[Sequence[float]], epochs: int) -> Band:
    """Quartiles by epoch of curves that end at different epochs."""
    quartiles = [
        np.percentile([curve[epoch] for curve in curves if len(curve) > epoch], [25, 50, 75])
        for epoch in range(epochs)
    ]
    low, mid, high = ([float(f"{value:.4g}") for value in q] for q in zip(*quartiles, strict=True))
    return Band(low, mid, high)


def _thinned(curve: Band, epochs: Sequence[int]) -> dict[str, list[float]]:
    """The curve at some epochs, for the script."""
    return {
        name: [float(f"{values[k]:.3g}") for k in epochs] for name, values in vars(curve).items()
    }


def _loss_panel(result: CellResult, histories: Sequence[History], several: bool) -> Panel:
    epochs = common_epochs([len(history) for history in histories])
    train = band([history.train_loss for history in histories], epochs)
    val = band([history.val_loss for history in histories], epochs)
    best = int(np.argmin(val.mid))
    label, name = result.cell.row.label, graph_name(result.cell.dataset)
    listed, drawn = evenly(epochs, _LISTED), evenly(epochs, _DRAWN)
    return Panel(
        title=f"{label}, {name}" if several else label,
        summary=f"{label} on {name}, {count(len(histories), 'seed')}, {count(epochs, 'epoch')}: "
        f"the median training loss goes from {train.mid[0]:.2f} to {train.mid[-1]:.2f}, the median "
        f"validation loss from {val.mid[0]:.2f} to {val.mid[-1]:.2f}, with its lowest "
        f"{val.mid[best]:.2f} at epoch {best + 1}.",
        columns=("epoch", "training loss", "validation loss"),
        rows=[(f"{k + 1}", f"{train.mid[k]:.3f}", f"{val.mid[k]:.3f}") for k in listed],
        drawn={
            "epochs": [k + 1 for k in drawn],
            "train": _thinned(train, drawn),
            "val": _thinned(val, drawn),
        },
    )


def lambda_panels(results: Sequence[CellResult]) -> list[Panel]:
    """A panel for every row and graph: a line of λ for each number of layers K."""
    panels = []
    for group in groups_of(results):
        means = {len(mean): mean for mean in map(mean_lambda, group.results) if mean}
        if means:
            panels.append(_lambda_panel(group, dict(sorted(means.items()))))
    return panels


def mean_lambda(result: CellResult) -> list[float]:
    """λ of each layer, mean over the seeds; empty for a model without λ."""
    return [round(v, 4) for v in mean_by_place(record.lambda_max for record in result.finished)]


def still_words(curves: Sequence[Sequence[float]], layers: int) -> str:
    """Where the curves of so many layers stay, in place of level lines; empty where one moves."""
    if max(max(curve) - min(curve) for curve in curves) > _STILL:
        return ""
    values = [value for curve in curves for value in curve]
    levels = dict.fromkeys(number(value, 2) for value in (min(values), max(values)))
    where = f"{'at' if len(levels) == 1 else 'between'} {' and '.join(levels)}"
    whose = "The layer stays" if layers == 1 else f"All {layers} layers stay"
    return f"{whose} {where} throughout: there is nothing to draw."


def mean_by_place(rows: Iterable[Sequence[float]]) -> list[float]:
    """The mean row of those that are not empty; empty where there is none or lengths differ."""
    known = [row for row in rows if row]
    if len({len(row) for row in known}) != 1:
        return []
    return [float(value) for value in np.mean(known, axis=0)]


def _lambda_panel(group: Group, means: dict[int, list[float]]) -> Panel:
    deepest = max(means)
    return Panel(
        title=group.title,
        summary=_lambda_words(group, means),
        columns=("K", *(f"layer {k}" for k in range(1, deepest + 1))),
        rows=[
            (f"{depth}", *(f"{value:.2f}" for value in values), *[""] * (deepest - depth))
            for depth, values in means.items()
        ],
        drawn={"depths": list(means), "values": list(means.values())},
    )


def _lambda_words(group: Group, means: dict[int, list[float]]) -> str:
    first = [values[0] for values in means.values()]
    deep = [values for depth, values in means.items() if depth > 1]
    falls = sum(all(a > b for a, b in pairwise(values)) for values in deep)
    seeds = max(len(result.finished) for result in group.results)
    text = (
        f"{group.label} on {group.title}, {count(seeds, 'seed')}: λ of the first layer lies "
        f"between {min(first):.2f} and {max(first):.2f}"
    )
    if deep:
        text += (
            f"; with K = {max(means)} it goes from {deep[-1][0]:.2f} to {deep[-1][-1]:.2f}; "
            f"it falls from every layer to the next in {falls} of {len(deep)} networks"
        )
    return text + "."


def depth_panels(results: Sequence[CellResult]) -> list[Panel]:
    """A panel for every row and graph: training and test accuracy over K."""
    return [_depth_panel(group) for group in groups_of([r for r in results if _depth(r)])]


def _depth(result: CellResult) -> int:
    """K; 0 where a row does not say it."""
    depth = result.cell.changes.get("num_layers")
    return depth if isinstance(depth, int) else 0


def _depth_panel(group: Group) -> Panel:
    by_depth = {_depth(result): result for result in sorted(group.results, key=_depth)}
    train, test = (
        {depth: _accuracy(result, part) for depth, result in by_depth.items()}
        for part in ("train", "test")
    )
    means = {depth: summary.mean for depth, summary in test.items()}
    best, first, last = max(means, key=lambda depth: means[depth]), min(means), max(means)
    return Panel(
        title=group.title,
        summary=f"{group.label} on {group.graph}: the mean test accuracy is highest, "
        f"{means[best]:.1f} %, at K = {best}; it is {means[first]:.1f} % at K = {first} and "
        f"{means[last]:.1f} % at K = {last}.",
        columns=("K", "seeds", "training accuracy", "test accuracy"),
        rows=[
            (f"{k}", f"{len(by_depth[k].finished)}", *(spread(s.mean, s.std) for s in pair))
            for k, *pair in zip(by_depth, train.values(), test.values(), strict=True)
        ],
        drawn={
            "depths": list(by_depth),
            "train": drawn_means(train.values()),
            "test": drawn_means(test.values()),
        },
    )


def _accuracy(result: CellResult, part: str) -> Summary:
    return summarise([r.metrics.get(f"{part}_accuracy", float("nan")) for r in result.finished])
