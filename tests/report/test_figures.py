import pytest

from akgnn.experiments.record import failed_record
from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.report.figures import figure_of
from report_data import ENVIRONMENT, VERSIONS, figure_records, homophily_records


@pytest.mark.parametrize(
    ("place", "note"), [(1, "quartiles"), (2, "λ = 2"), (3, "one standard deviation")]
)
def test_a_figure_says_how_it_is_to_be_read(spec_files, place, note):
    spec = read_spec(spec_files[place])
    figure = figure_of(spec, collect(spec, figure_records(spec)))
    assert note in figure.about
    assert figure.kind == spec.shows
    assert all(panel.drawn for panel in figure.panels)
    assert figure.panels


def test_failed_runs_are_named(spec_files):
    spec = read_spec(spec_files[1])
    failed = failed_record(
        spec.cells[2].plan(1), "Out of memory.", versions=VERSIONS, environment=ENVIRONMENT
    )
    figure = figure_of(spec, collect(spec, [failed]))
    assert figure.failures == ("AKGNN, csbm:num_nodes=60, K 3, seed 1: Out of memory.",)


def test_nothing_finished_leaves_an_empty_figure(spec_files):
    spec = read_spec(spec_files[1])
    assert figure_of(spec, collect(spec, [])).panels == ()


def test_a_figure_over_homophily_says_what_a_share_is(homophily_file):
    spec = read_spec(homophily_file)
    figure = figure_of(spec, collect(spec, homophily_records(spec)))
    assert figure.kind == "homophily"
    assert "The share of neighbours is the part" in figure.about
    assert len(figure.panels) == 2
