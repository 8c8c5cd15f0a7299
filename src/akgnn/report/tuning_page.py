"""The page of a search: what it gained, and what each setting had to do with it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from akgnn.data.catalogue import graph_name
from akgnn.report.figures import Figure
from akgnn.report.html import Page
from akgnn.report.panels import Panel
from akgnn.report.parallel_figure import parallel_figure
from akgnn.report.values import count, value_text
from akgnn.training.metrics import interval_words
from akgnn.tuning.search import Search
from akgnn.tuning.space import Dimension, settings_of
from akgnn.tuning.study import FEWEST_FOR_IMPORTANCE, Trial

_PROGRESS = (
    "Every trial by its number; the line is the best of those that finished. A pruned trial has "
    "the score at which it was given up. The test nodes were not there."
)
_SETTINGS = (
    "Every trial by its value of one setting. Trials differ in all settings at once, so that a "
    "panel shows where good ones lie, not what the setting does by itself."
)
_IMPORTANCE = (
    "Importance is how far the values of the best quarter of trials are spread otherwise than "
    "those of all (PED-ANOVA); all settings together have 100 %. It says what mattered among the "
    "values that were tried, not what a setting does by itself."
)


def tuning_page(search: Search, command: str) -> Page:
    """The page of a search with at least one finished trial.

    Args:
        search: The search.
        command: The command line that trains the best settings.
    """
    which, best = search.plan.run, search.best
    start = settings_of(search.plan.preset)
    order = _by_importance(search)
    panels = tuple(_setting_panel(search, each) for each in order)
    shown: dict[str, Any] = {
        "search": search,
        "which": which,
        "graph": graph_name(search.plan.data_name),
        "best": best,
        "gain": gain_words(search),
        "ended": ended_words(search),
        "figures_shown": _key_figures(search),
        "importance_note": _importance_note(search),
        "command": command,
        "settings": [
            (each.name, value_text(start[each.name]), value_text(best.values[each.name]))
            for each in order
        ],
        "trials": [
            (
                trial,
                _score_text(search, trial.score),
                [value_text(trial.values[each.name]) for each in order],
            )
            for trial in search.trials
        ],
    }
    figures = [Figure("progress", "tuning", "Best so far", _PROGRESS, (_progress_panel(search),))]
    figures += parallel_figure(search, order)
    figures.append(Figure("settings", "tuning-setting", "Settings", _SETTINGS, panels))
    return Page(
        f"Search for {which.model} on {graph_name(search.plan.data_name)}",
        "tuning.html",
        shown,
        figures=tuple(figures),
        responses=(),
        counts={"trials": len(search.trials)},
    )


def gain_words(search: Search) -> str:
    """What the search gained over where it started, in a sentence."""
    name, best, start = search.score.name.capitalize(), search.best, search.start
    where = f"the preset {search.plan.run.preset}" if search.starts_as_asked else "the first trial"
    if start is None:
        return f"{name} {search.score.text(best.score)}; {where} itself did not finish."
    if not best.number:
        others = count(len(search.trials) - 1, "other trial")
        said = f"was not beaten by {others}" if len(search.trials) > 1 else "is all that was tried"
        return f"{name} {search.score.text(best.score)} of {where} {said}."
    before, after = search.score.text(start.score), search.score.text(best.score)
    return f"{name} {before} → {after} over {where}."


def ended_words(search: Search) -> str:
    """How many trials there were and how they ended."""
    finished = search.count("finished")
    pruned, failed = search.count("pruned"), search.count("failed")
    ends = [f"{finished} finished"]
    ends += [f"{pruned} {'was' if pruned == 1 else 'were'} pruned"] if pruned else []
    ends += [f"{failed} failed"] if failed else []
    if len(ends) == 1:
        return (
            f"{count(finished, 'trial')}, {'which' if finished == 1 else 'all of which'} finished"
        )
    return f"{count(len(search.trials), 'trial')}, of which {', '.join(ends[:-1])} and {ends[-1]}"


def _key_figures(search: Search) -> list[tuple[str, str, str]]:
    """The numbers at the top: what each is, how much, and of accuracy the interval."""
    is_accuracy = search.score.column == "val_accuracy"

    def shown(what: str, trial: Trial) -> tuple[str, str, str]:
        interval = interval_words(trial.score, search.num_val) if is_accuracy else ""
        return what, search.score.text(trial.score), interval

    start, best = search.start, search.best
    first = [] if start is None or start is best else [shown("At the start", start)]
    return [*first, shown(f"Best, in trial {best.number} of {len(search.trials)}", best)]


def _importance_note(search: Search) -> str:
    if search.importance:
        return _IMPORTANCE
    return (
        f"Which settings mattered can be told from {FEWEST_FOR_IMPORTANCE} finished trials on; "
        f"here are {len(search.finished)}."
    )


def _by_importance(search: Search) -> list[Dimension]:
    """The settings, the most important first; as they are declared where that is not known."""
    return sorted(search.space, key=lambda each: -search.importance.get(each.name, 0.0))


def best_so_far(search: Search) -> list[float]:
    """After each trial the best score of those that have finished; NaN before the first."""
    scores = [each.score if each.state == "finished" else math.nan for each in search.trials]
    better = np.fmin if search.score.metric.lower_is_better else np.fmax
    return [float(score) for score in better.accumulate(scores)]


def _progress_panel(search: Search) -> Panel:
    best, line = search.best, best_so_far(search)
    return Panel(
        title="",
        summary=f"{count(len(search.trials), 'trial')}, of which trial {best.number} has the best "
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
        summary=f"{search.score.name.capitalize()} of {count(len(order), 'trial')} by {name}.",
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
