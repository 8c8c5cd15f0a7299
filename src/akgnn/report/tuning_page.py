"""The page of a search: the best score so far, and what each setting had to do with it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from akgnn.data.catalogue import graph_name
from akgnn.report.figures import Figure
from akgnn.report.html import Page
from akgnn.report.panels import Panel
from akgnn.report.values import value_text
from akgnn.tuning.search import Search
from akgnn.tuning.space import Dimension, settings_of
from akgnn.tuning.study import Trial

_PROGRESS = (
    "Every trial by its number; the line is the best of those that finished. A pruned trial has "
    "the score at which it was given up. The test nodes were not there."
)
_SETTINGS = (
    "Every trial by its value of one setting. Trials differ in all settings at once, so that a "
    "panel shows where good ones lie, not what the setting does by itself."
)


def tuning_page(search: Search) -> Page:
    """The page of a search with at least one finished trial."""
    which, best = search.plan.run, search.best
    start = settings_of(search.plan.preset)
    panels = tuple(_setting_panel(search, each) for each in search.space)
    shown: dict[str, Any] = {
        "search": search,
        "which": which,
        "graph": graph_name(search.plan.data_name),
        "best": best,
        "best_score": search.score.text(best.score),
        "settings": [
            (each.name, start[each.name], best.values[each.name]) for each in search.space
        ],
        "trials": [(trial, _score_text(search, trial.score)) for trial in search.trials],
    }
    return Page(
        f"Search for {which.model} on {graph_name(search.plan.data_name)}",
        "tuning.html",
        shown,
        figures=(
            Figure("progress", "tuning", "Best so far", _PROGRESS, (_progress_panel(search),)),
            Figure("settings", "tuning-setting", "Settings", _SETTINGS, panels),
        ),
        responses=(),
        counts={"trials": len(search.trials)},
    )


def best_so_far(search: Search) -> list[float]:
    """After each trial the best score of those that have finished; NaN before the first."""
    scores = [each.score if each.state == "finished" else math.nan for each in search.trials]
    better = np.fmin if search.score.metric.lower_is_better else np.fmax
    return [float(score) for score in better.accumulate(scores)]


def _progress_panel(search: Search) -> Panel:
    best, line = search.best, best_so_far(search)
    return Panel(
        title="",
        summary=f"{len(search.trials)} trials, of which trial {best.number} has the best "
        f"{search.score.name}: {search.score.text(best.score)}.",
        columns=("trial", "score", "best so far"),
        rows=[
            (str(trial.number), _score_text(search, trial.score), _score_text(search, so_far))
            for trial, so_far in zip(search.trials, line, strict=True)
        ],
        drawn={
            "x": [trial.number for trial in search.trials],
            "best": line,
            **_points(search, search.trials),
        },
    )


def _setting_panel(search: Search, dimension: Dimension) -> Panel:
    name = dimension.name
    place = dimension.choices.index if dimension.choices else float
    order = sorted(search.trials, key=lambda trial: place(trial.values[name]))
    values = [trial.values[name] for trial in order]
    return Panel(
        title=name,
        summary=f"{search.score.name.capitalize()} of {len(order)} trials by {name}.",
        columns=(name, "score", "trial"),
        rows=[
            (value_text(value), _score_text(search, trial.score), str(trial.number))
            for value, trial in zip(values, order, strict=True)
        ],
        drawn={
            "name": name,
            "x": [value_text(value) if dimension.choices else value for value in values],
            "log": dimension.log,
            # Whole steps between integers, eight of them at most; None leaves it to the chart.
            "step": math.ceil((dimension.high - dimension.low) / 8) if dimension.is_whole else None,
            "choices": [value_text(choice) for choice in dimension.choices],
            **_points(search, order),
        },
    )


def _points(search: Search, trials: Sequence[Trial]) -> dict[str, Any]:
    """Scores, and what the marks say."""
    return {
        "y": [trial.score for trial in trials],
        "number": [trial.number for trial in trials],
        "pruned": [trial.state == "pruned" for trial in trials],
        "chosen": [trial.number == search.best.number for trial in trials],
        "score": search.score.name + ", %" * search.score.metric.is_percent,
    }


def _score_text(search: Search, score: float) -> str:
    return "–" if math.isnan(score) else search.score.text(score)
