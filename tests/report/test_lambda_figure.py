import pytest

from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.report.lambda_figure import lambda_panels, mean_lambda
from report_data import figure_records


@pytest.fixture
def results(spec_files):
    spec = read_spec(spec_files[2])
    return collect(spec, figure_records(spec))


def test_a_line_of_means_for_each_depth(results):
    (panel,) = lambda_panels(results)
    assert panel.drawn["depths"] == [1, 2, 3]
    assert panel.drawn["values"] == [[2.5], [2.5, 2.0], [2.5, 2.0, 1.5]]
    assert panel.columns == ("K", "layer 1", "layer 2", "layer 3")
    assert panel.rows[1] == ("2", "2.50", "2.00", "")


def test_the_summary_says_how_lambda_goes(results):
    (panel,) = lambda_panels(results)
    assert "with K = 3 it goes from 2.50 to 1.50" in panel.summary
    assert "falls from every layer to the next in 2 of 2 networks" in panel.summary


def test_means_are_over_seeds(results):
    assert mean_lambda(results[2]) == [2.5, 2.0, 1.5]
