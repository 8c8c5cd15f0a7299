import math

import pytest

from akgnn.report import html
from akgnn.report.tuning_page import best_so_far, tuning_page
from report_data import some_search

SEARCH = some_search()


@pytest.fixture(scope="module")
def page():
    return tuning_page(SEARCH)


def test_the_line_is_the_best_of_those_that_finished():
    first, *others = best_so_far(SEARCH)
    assert math.isnan(first)
    assert others == [70, 70, 80, 80]


def test_there_is_a_panel_for_every_setting(page):
    progress, settings = page.figures
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
    shown = text.partition('id="drawn"')[0]
    assert "<h1>Settings for akgnn on Cora</h1>" in shown
    assert "80.0 %" in shown
    assert shown.count('<tr class="reference"><th scope="row">3</th>') == 1
    assert "NaN" not in text.rpartition('id="drawn">')[2].partition("</script>")[0]


def test_errors_are_shown_as_text(page):
    shown = html.render(page).partition('id="drawn"')[0]
    assert "<img" not in shown
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown
