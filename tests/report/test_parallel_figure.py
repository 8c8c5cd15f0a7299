from dataclasses import replace

import pytest

from akgnn.report.parallel_figure import parallel_figure
from akgnn.tuning.study import Trial
from report_data import some_search

SEARCH = some_search()


def test_a_line_runs_through_every_setting_to_its_score():
    ((panel,),) = (figure.panels for figure in parallel_figure(SEARCH, SEARCH.space))
    rows, trials = panel.drawn["rows"], panel.drawn["trials"]
    names = ["learning_rate", "num_layers", "readout", "validation accuracy"]
    assert [row["name"] for row in rows] == names
    assert [tick["text"] for tick in rows[0]["ticks"]] == ["0.001", "0.1"]
    assert [tick["text"] for tick in rows[3]["ticks"]] == ["70.0 %", "80.0 %"]
    # Of three that finished, one is a quarter; the pruned and the failed one are left out.
    assert [trial["number"] for trial in trials] == [3, 4, 1]
    assert [trial["group"] for trial in trials] == ["best", "other", "other"]
    # 0.01 lies in the middle between 0.001 and 0.1, 9 is the 8th of 39 steps, mean the second.
    assert trials[2]["at"] == pytest.approx([0.5, 8 / 39, 1, 0], abs=1e-4)
    assert trials[2]["texts"] == ["0.01", "9", "mean", "70.0 %"]
    assert trials[1]["at"][3] == 0.5
    assert panel.rows == [("3", "80.0 %", "0.002", "1", "sum")]


def test_the_best_loss_is_on_the_right():
    metric = replace(SEARCH.score.metric, lower_is_better=True)
    search = replace(SEARCH, score=replace(SEARCH.score, metric=metric))
    (figure,) = parallel_figure(search, search.space)
    places = {each["number"]: each["at"][3] for each in figure.panels[0].drawn["trials"]}
    assert places == {1: 1.0, 4: 0.5, 3: 0.0}


def test_equal_scores_lie_at_one_place():
    trials = tuple(replace(trial, score=70.0, state="finished") for trial in SEARCH.trials)
    (figure,) = parallel_figure(replace(SEARCH, trials=trials), SEARCH.space)
    assert {each["at"][3] for each in figure.panels[0].drawn["trials"]} == {1.0}


def test_few_trials_have_no_figure_and_of_many_the_best_are_drawn():
    assert parallel_figure(replace(SEARCH, trials=SEARCH.trials[:2]), SEARCH.space) == []
    values = SEARCH.trials[1].values
    many = tuple(Trial(k, "finished", float(k), values, 1, 1.0) for k in range(250))
    (figure,) = parallel_figure(replace(SEARCH, trials=many), SEARCH.space)
    assert len(figure.panels[0].drawn["trials"]) == 200
    assert "Of 250 the 200 best are drawn." in figure.about


def test_the_summary_says_where_good_trials_lie():
    trials = (*SEARCH.trials, replace(SEARCH.trials[3], number=5, score=79.0))
    values = {**SEARCH.trials[3].values, "num_layers": 4, "readout": "mean"}
    trials = (*trials, replace(SEARCH.trials[3], number=6, score=78.0, values=values))
    (figure,) = parallel_figure(replace(SEARCH, trials=trials), SEARCH.space)
    assert figure.panels[0].summary == (
        "The best 2 trials by validation accuracy: learning_rate 0.002; num_layers 1; readout sum."
    )
