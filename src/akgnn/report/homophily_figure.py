"""Score and share of neighbours over the homophily of generated graphs."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from akgnn.data.catalogue import generated_settings
from akgnn.data.generated import BlockModelSettings
from akgnn.experiments.results import CellResult
from akgnn.experiments.spec import METRIC_NAMES
from akgnn.report.panel import Panel
from akgnn.report.tables import point_name
from akgnn.report.values import pairs, spread
from akgnn.training.kernel_places import by_layer, places_of
from akgnn.training.summary import Summary, summarise


@dataclass(frozen=True)
class Line:
    """A row of the figure: its results by homophily, in rising order.

    Attributes:
        label: Of the row, with what else tells it from others.
        metric: What its scores are.
        chance: The homophily at which edges say nothing about classes.
        results: By homophily.
    """

    label: str
    metric: str
    chance: float
    results: Mapping[float, CellResult]


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
        key = ", ".join(filter(None, parts)), METRIC_NAMES[result.cell.metric]
        found.setdefault(key, {})[setting.homophily] = result
        chances[key] = 1 / setting.num_classes
    return [
        Line(*key, chances[key], dict(sorted(by_homophily.items())))
        for key, by_homophily in found.items()
    ]


def _settings(result: CellResult) -> BlockModelSettings:
    settings = generated_settings(result.cell.plan(0).which.dataset)
    # Specs that show homophily were checked for this when they were read.
    assert settings is not None
    return settings


def _score_panel(lines: Sequence[Line]) -> Panel:
    metric = lines[0].metric
    summaries = [
        {h: summarise(list(result.scores.values())) for h, result in line.results.items()}
        for line in lines
    ]
    homophilies = sorted({h for line in lines for h in line.results})
    labels = [line.label for line in lines]
    told = [_said(label, means) for label, means in zip(labels, summaries, strict=True)]
    return Panel(
        title=f"Test {metric}",
        summary=f"Test {metric} over homophily, means: {'; '.join(told)}.",
        columns=("homophily", *labels),
        rows=[
            (
                f"{h:g}",
                *(_cell(line, means, h) for line, means in zip(lines, summaries, strict=True)),
            )
            for h in homophilies
        ],
        drawn={
            "metric": f"test {metric}, %",
            "chance": sorted({line.chance for line in lines}),
            "rows": [_drawn(label, means) for label, means in zip(labels, summaries, strict=True)],
        },
        key=labels,
    )


def _said(label: str, means: Mapping[float, Summary]) -> str:
    """Both ends of a line and its lowest point."""
    first, last = min(means), max(means)
    lowest = min(means, key=lambda h: means[h].mean)
    text = f"{label} {means[first].mean:.1f} % at homophily {first:g}"
    if lowest not in (first, last):
        text += f", lowest {means[lowest].mean:.1f} % at {lowest:g}"
    return text if first == last else f"{text}, {means[last].mean:.1f} % at {last:g}"


def _cell(line: Line, means: Mapping[float, Summary], homophily: float) -> str:
    if homophily not in means:
        return "–"
    summary = means[homophily]
    return f"{spread(summary.mean, summary.std)}, n {len(line.results[homophily].finished)}"


def _drawn(name: str, means: Mapping[float, Summary]) -> dict[str, Any]:
    """A line for the script; one run alone has no band."""
    return {
        "name": name,
        "x": list(means),
        "mean": [round(summary.mean, 3) for summary in means.values()],
        "std": [round(s.std, 3) if s.std == s.std else 0.0 for s in means.values()],
    }


def _share_panel(line: Line) -> Panel | None:
    """The share of neighbours of each layer; None for a row whose records do not have it."""
    places = by_layer(places_of(next(iter(line.results.values())).cell.template))
    shares = {h: _shares(result, places) for h, result in line.results.items()}
    known = {h: rows for h, rows in shares.items() if rows}
    if not known:
        return None
    names = list(places)
    means = {
        name: {h: summarise([row[k] for row in rows]) for h, rows in known.items()}
        for k, name in enumerate(names)
    }
    told = [
        f"{name} {found[min(found)].mean:.2f} at homophily {min(found):g}, "
        f"{found[max(found)].mean:.2f} at {max(found):g}"
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


def _shares(result: CellResult, places: Mapping[str, Sequence[int]]) -> list[list[float]]:
    """The shares of each run by layer and way, mean over groups."""
    expected = sum(map(len, places.values()))
    return [
        [statistics.fmean(record.neighbour_share[k] for k in found) for found in places.values()]
        for record in result.finished
        if len(record.neighbour_share) == expected > 0
    ]


def _starts(result: CellResult) -> str:
    """How often validation kept which start; runs of different starts lie behind one mean."""
    kept = Counter(
        start.start for record in result.finished for start in record.starts if start.is_chosen
    )
    return "; ".join(f"{start}: {number}" for start, number in kept.most_common())
