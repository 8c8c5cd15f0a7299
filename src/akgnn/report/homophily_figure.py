"""Score and share of neighbours over the homophily of generated graphs."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from akgnn.data.catalogue import generated_settings
from akgnn.data.generated import BlockModelSettings
from akgnn.experiments.results import CellResult
from akgnn.experiments.statistics import Summary, summarise
from akgnn.models.scalars import by_layer, positions_of
from akgnn.report.panels import Panel, drawn_means
from akgnn.report.tables import point_name
from akgnn.report.values import number, pairs, spread
from akgnn.training.metrics import METRICS


@dataclass(frozen=True)
class Line:
    """A row of the figure: its results by homophily, in rising order.

    The label has what else tells it from others; at homophily `chance` edges say nothing about
    classes.
    """

    label: str
    metric: str
    chance: float
    results: Mapping[float, CellResult]

    @cached_property
    def scores(self) -> dict[float, Summary]:
        """Of its runs, by homophily."""
        return {h: summarise(list(result.scores.values())) for h, result in self.results.items()}


def homophily_panels(results: Sequence[CellResult]) -> list[Panel]:
    """A panel of scores for each metric, then one of shares for each row that has them."""
    lines = _lines(results)
    metrics = dict.fromkeys(line.metric for line in lines)
    scores = [_score_panel([line for line in lines if line.metric == metric]) for metric in metrics]
    return [*scores, *(panel for panel in map(_share_panel, lines) if panel)]


def _lines(results: Sequence[CellResult]) -> list[Line]:
    """The results by row, grid point and everything but homophily and seed in the graph's name."""
    settings = [_settings(result) for result in results]
    others = [
        {k: v for k, v in s.to_dict().items() if k not in ("homophily", "seed")} for s in settings
    ]
    differing = [name for name in (others or [{}])[0] if len({o[name] for o in others}) > 1]
    found: dict[tuple[str, str], dict[float, CellResult]] = {}
    chances: dict[tuple[str, str], float] = {}
    for result, setting, other in zip(results, settings, others, strict=True):
        told = pairs({name: other[name] for name in differing})
        parts = (result.cell.row.label, point_name(result.cell), told)
        key = ", ".join(filter(None, parts)), METRICS[result.cell.metric].label
        found.setdefault(key, {})[setting.homophily] = result
        chances[key] = 1 / setting.num_classes
    return [
        Line(*key, chances[key], dict(sorted(by_homophily.items())))
        for key, by_homophily in found.items()
    ]


def _settings(result: CellResult) -> BlockModelSettings:
    settings = generated_settings(result.cell.plan(0).run.dataset)
    # Specs that show homophily were checked for this when they were read.
    assert settings is not None
    return settings


def _score_panel(lines: Sequence[Line]) -> Panel:
    metric, labels = lines[0].metric, [line.label for line in lines]
    return Panel(
        title=f"Test {metric}",
        summary=f"Test {metric} over homophily, means: {'; '.join(map(_said, lines))}.",
        columns=("homophily", *labels),
        rows=[
            (f"{h:g}", *(_cell(line, h) for line in lines))
            for h in sorted({h for line in lines for h in line.results})
        ],
        drawn={
            "metric": f"test {metric}, %",
            "chance": sorted({line.chance for line in lines}),
            "rows": [_drawn(line.label, line.scores) for line in lines],
        },
        key=labels,
    )


def _said(line: Line) -> str:
    """Both ends of a line and its lowest point."""
    means = {h: summary.mean for h, summary in line.scores.items()}
    first, last, lowest = min(means), max(means), min(means, key=lambda h: means[h])
    text = f"{line.label} {means[first]:.1f} % at homophily {first:g}"
    if lowest not in (first, last):
        text += f", lowest {means[lowest]:.1f} % at {lowest:g}"
    return text if first == last else f"{text}, {means[last]:.1f} % at {last:g}"


def _cell(line: Line, homophily: float) -> str:
    if homophily not in line.results:
        return "–"
    summary = line.scores[homophily]
    return f"{spread(summary.mean, summary.std)}, n {len(line.results[homophily].finished)}"


def _drawn(name: str, means: Mapping[float, Summary]) -> dict[str, Any]:
    """A line for the script."""
    return {"name": name, "x": list(means), **drawn_means(means.values())}


def _share_panel(line: Line) -> Panel | None:
    """The share of neighbours of each layer; None for a row whose records do not have it."""
    cell = next(iter(line.results.values())).cell
    # Rows that choose among others have layers of different networks.
    positions = {} if cell.among else by_layer(positions_of(cell.template.preset.model))
    shares = {h: _shares(result, positions) for h, result in line.results.items()}
    known = {h: rows for h, rows in shares.items() if rows}
    if not known:
        return None
    names = list(positions)
    means = {
        name: {h: summarise([row[k] for row in rows]) for h, rows in known.items()}
        for k, name in enumerate(names)
    }
    told = [
        f"{name} {number(found[min(found)].mean, 2)} at homophily {min(found):g}, "
        f"{number(found[max(found)].mean, 2)} at {max(found):g}"
        for name, found in means.items()
    ]
    starts = {h: _starts(line.results[h]) for h in known}
    more = ("starts kept",) if any(starts.values()) else ()
    return Panel(
        title=f"{line.label}: share of neighbours",
        summary=f"Mean share of neighbours of {line.label}, from −1, subtracted, through 0, "
        f"ignored, to 1, averaged: {'; '.join(told)}.",
        columns=("homophily", *names, *more),
        rows=[
            (
                f"{h:g}",
                *(spread(found[h].mean, found[h].std, 2) for found in means.values()),
                *([starts[h]] if more else []),
            )
            for h in known
        ],
        drawn={
            "chance": [line.chance],
            "layers": [_drawn(name, found) for name, found in means.items()],
        },
        key=names,
    )


def _shares(result: CellResult, positions: Mapping[str, Sequence[int]]) -> list[list[float]]:
    """The shares of each run by layer and direction, mean over groups."""
    expected = sum(map(len, positions.values()))
    return [
        [statistics.fmean(record.neighbour_share[k] for k in found) for found in positions.values()]
        for record in result.finished
        if len(record.neighbour_share) == expected > 0
    ]


def _starts(result: CellResult) -> str:
    """How often validation kept which start; runs of different starts lie behind one mean."""
    kept = Counter(
        start.initial_value
        for record in result.finished
        for start in record.starts
        if start.is_chosen
    )
    # Some starts are numbers.
    shown = (f"−{s[1:]}: {n}" if s.startswith("-") else f"{s}: {n}" for s, n in kept.most_common())
    return "; ".join(shown)
