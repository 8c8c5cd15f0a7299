"""Trials of a search across all its settings: parallel coordinates."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from akgnn.report.figures import Figure
from akgnn.report.panels import Panel
from akgnn.report.values import count, value_text
from akgnn.tuning.search import Search
from akgnn.tuning.space import Dimension, Value
from akgnn.tuning.study import Trial

# Fewer finished trials are read more easily in their table; more lines hide each other.
_FEWEST, _MOST = 3, 200
# So many of the finished trials are the good ones.
_GOOD = 0.25


def parallel_figure(search: Search, order: Sequence[Dimension]) -> list[Figure]:
    """The figure, a row for each setting in this order; none where few trials have finished."""
    sign = 1 if search.score.metric.lower_is_better else -1
    ranked = sorted(search.finished, key=lambda trial: sign * trial.score)[:_MOST]
    if len(ranked) < _FEWEST:
        return []
    good = max(1, math.ceil(_GOOD * len(ranked)))
    panel = Panel(
        title="",
        summary=_summary(search, order, ranked[:good]),
        columns=("trial", "score", *(each.name for each in order)),
        rows=[
            (
                str(trial.number),
                search.score.text(trial.score),
                *(value_text(trial.values[each.name]) for each in order),
            )
            for trial in ranked[:good]
        ],
        drawn={
            "rows": [*map(_row, order), _score_row(search, ranked)],
            "trials": [
                {
                    "number": trial.number,
                    "group": "other" if rank >= good else "good" if rank else "best",
                    "at": [*_places(trial, order), _score_place(trial, ranked)],
                    "texts": [
                        *(value_text(trial.values[each.name]) for each in order),
                        search.score.text(trial.score),
                    ],
                }
                for rank, trial in enumerate(ranked)
            ],
        },
    )
    cut = f" Of {len(search.finished)} the {_MOST} best are drawn." * (
        len(search.finished) > len(ranked)
    )
    about = (
        "Every finished trial is a line that runs down through its value of each setting to its "
        "score, the best on the right. A setting mattered where lines of the best quarter run "
        f"together and the others do not.{cut}"
    )
    return [Figure("parallel", "tuning-parallel", "Trials across settings", about, (panel,))]


def _summary(search: Search, order: Sequence[Dimension], good: Sequence[Trial]) -> str:
    """From where to where the good trials go, setting by setting."""
    spans = [f"{each.name} {_span(each, [t.values[each.name] for t in good])}" for each in order]
    return f"The best {count(len(good), 'trial')} by {search.score.name}: {'; '.join(spans)}."


def _span(dimension: Dimension, values: Sequence[Value]) -> str:
    if dimension.choices:
        return " or ".join(value_text(each) for each in dimension.choices if each in values)
    ends = dict.fromkeys((value_text(min(values, key=float)), value_text(max(values, key=float))))
    return " to ".join(ends)


def _row(dimension: Dimension) -> dict[str, Any]:
    """A setting: its name, and the values that are written along its line."""
    ends: Sequence[Value] = dimension.choices or (dimension.low, dimension.high)
    ticks = [{"at": _place(dimension, value), "text": _tick(value)} for value in ends]
    return {"name": dimension.name, "ticks": ticks}


def _tick(value: Value) -> str:
    """A value without powers of ten: 0.00001."""
    if isinstance(value, float):
        return str(np.format_float_positional(value, trim="-"))
    return value_text(value)


def _score_row(search: Search, ranked: Sequence[Trial]) -> dict[str, Any]:
    ends = {0.0: ranked[-1], 1.0: ranked[0]}
    ticks = [{"at": at, "text": search.score.text(trial.score)} for at, trial in ends.items()]
    return {"name": search.score.name, "ticks": ticks}


def _places(trial: Trial, order: Sequence[Dimension]) -> list[float]:
    return [_place(each, trial.values[each.name]) for each in order]


def _place(dimension: Dimension, value: Value) -> float:
    """Where a value lies between the ends of its setting, from 0 to 1."""
    if dimension.choices:
        last = len(dimension.choices) - 1
        return dimension.choices.index(value) / last if last else 0.5
    scale = math.log if dimension.log else float
    low, here, high = map(scale, (dimension.low, float(value), dimension.high))
    return round(min(1.0, max(0.0, (here - low) / (high - low))), 4)


def _score_place(trial: Trial, ranked: Sequence[Trial]) -> float:
    """Where a score lies between the worst, at 0, and the best of these."""
    best, worst = ranked[0].score, ranked[-1].score
    return 1.0 if best == worst else round((trial.score - worst) / (best - worst), 4)
