import math
from dataclasses import replace

import pytest

from akgnn.report import html
from akgnn.report.tuning_page import best_so_far, ended_words, gain_words, tuning_page
from akgnn.tuning.study import Trial
from report_data import read_packed, some_search

SEARCH = some_search()
COMMAND = "akgnn train --config 'my <search>/best.toml'"


@pytest.fixture(scope="module")
def page():
    return tuning_page(SEARCH, COMMAND)


def test_the_line_is_the_best_of_those_that_finished():
    first, *others = best_so_far(SEARCH)
    assert math.isnan(first)
    assert others == [70, 70, 80, 80]


def test_there_is_a_panel_for_every_setting(page):
    progress, _, settings = page.figures
    assert [panel.title for panel in settings.panels] == ["learning_rate", "num_layers", "readout"]
    assert progress.panels[0].drawn["pruned"] == [False, False, True, False, False]
    assert progress.panels[0].drawn["chosen"] == [False, False, False, True, False]
    assert progress.panels[0].rows[0] == ("0", "–", "–")
    rate, depth, readout = (panel.drawn for panel in settings.panels)
    assert rate["x"] == sorted(rate["x"])
    assert rate["log"]
    assert depth["step"] == 5
    assert readout["x"] == ["sum", "sum", "sum", "mean", "mean"]
    assert readout["choices"] == ["sum", "mean"]


def test_the_page_shows_start_and_best_and_every_trial(page):
    text = html.render(page)
    shown = text.partition('id="packed-drawn"')[0]
    assert "<h1>Settings for akgnn on Cora</h1>" in shown
    assert "80.0 %" in shown
    assert shown.count('<tr class="reference"><th scope="row">3</th>') == 1
    assert b"NaN" not in read_packed(text, "drawn")


def test_errors_are_shown_as_text(page):
    shown = html.render(page).partition('id="packed-drawn"')[0]
    assert "<img" not in shown
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown


def searched(*states, scores=()):
    """A search whose trials ended so; the first has the settings of the preset."""
    start = {"learning_rate": 0.01, "num_layers": 5, "readout": "sum"}
    scores = scores or [70.0 + number for number in range(len(states))]
    trials = [
        Trial(number, state, score if state != "failed" else math.nan, start, 10, 1.5)
        for number, (state, score) in enumerate(zip(states, scores, strict=True))
    ]
    return replace(SEARCH, trials=tuple(trials))


@pytest.mark.parametrize(
    ("states", "scores", "words"),
    [
        (["finished"] * 2, [], "Validation accuracy 70.0 % → 71.0 % over the preset paper."),
        (
            ["finished"] * 3,
            [75, 70, 72],
            "Validation accuracy 75.0 % of the preset paper was not beaten by 2 other trials.",
        ),
        (["finished"], [], "Validation accuracy 70.0 % of the preset paper is all that was tried."),
        (
            ["failed", "finished"],
            [],
            "Validation accuracy 71.0 %; the preset paper itself did not finish.",
        ),
    ],
)
def test_the_page_opens_with_what_was_gained(states, scores, words):
    search = searched(*states, scores=scores)
    assert gain_words(search) == words
    assert f'<p class="lead">{words}</p>' in html.render(tuning_page(search, COMMAND))


def test_a_first_trial_of_other_settings_is_not_called_the_preset():
    finished = tuple(trial for trial in SEARCH.trials if trial.state == "finished")
    said = "Validation accuracy 70.0 % → 80.0 % over the first trial."
    assert gain_words(replace(SEARCH, trials=finished)) == said


@pytest.mark.parametrize(
    ("states", "words"),
    [
        (["finished"], "1 trial, which finished"),
        (["finished"] * 3, "3 trials, all of which finished"),
        (["finished", "pruned"], "2 trials, of which 1 finished and 1 was pruned"),
        (
            ["finished", "pruned", "pruned", "failed"],
            "4 trials, of which 1 finished, 2 were pruned and 1 failed",
        ),
    ],
)
def test_one_was_pruned_and_two_were(states, words):
    assert ended_words(searched(*states)) == words


def test_the_command_that_trains_the_best_is_there_to_copy(page):
    shown = html.render(page).partition('id="packed-drawn"')[0]
    escaped = "akgnn train --config &#39;my &lt;search&gt;/best.toml&#39;"
    assert f'<code id="command">{escaped}</code>' in shown
    assert 'class="copy" aria-controls="command"' in shown


def test_the_most_important_setting_comes_first():
    importance = {"readout": 0.5, "num_layers": 0.3, "learning_rate": 0.2}
    page = tuning_page(replace(SEARCH, importance=importance), COMMAND)
    assert [name for name, _, _ in page.shown["settings"]] == list(importance)
    assert [panel.title for panel in page.figures[-1].panels] == list(importance)
    text = html.render(page).partition('id="packed-drawn"')[0]
    assert '<td>30</td><td class="bar"><span style="--share: 0.600"' in text


def test_too_few_trials_have_no_importance(page):
    shown = html.render(page).partition('id="packed-drawn"')[0]
    assert "can be told from 20 finished trials on; here are 3." in shown
    assert "Importance, %" not in shown


def test_an_accuracy_of_few_validation_nodes_has_its_interval(page):
    text = html.render(tuning_page(replace(SEARCH, num_val=59), COMMAND))
    assert '80.0 % <span class="interval-words">68 to 88 with 59 nodes</span>' in text
    assert 'class="interval-words"' not in html.render(page)
