from dataclasses import replace

import pytest

from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.report.homophily_figure import homophily_panels
from report_data import HOSTILE, homophily_records


@pytest.fixture
def spec(homophily_file):
    return read_spec(homophily_file)


def panels_of(spec, keep=lambda record: True, change=lambda record: record):
    records = [change(record) for record in homophily_records(spec) if keep(record)]
    results = collect(spec, records)
    return homophily_panels([result for result in results if result.finished])


def test_a_line_for_each_row_in_the_order_of_homophily(spec):
    scores, _ = panels_of(spec)
    assert scores.title == "Test accuracy"
    assert [row["name"] for row in scores.drawn["rows"]] == list(scores.key)
    assert scores.key == ["AKGNN, signed", "AKGNN, paper's", HOSTILE]
    first = scores.drawn["rows"][0]
    assert first["x"] == [0, 0.5, 0.8]
    assert first["mean"] == [48.5, 73.5, 88.5]
    assert first["std"] == pytest.approx([1.291] * 3)
    assert scores.drawn["chance"] == [0.25]
    assert scores.columns == ("homophily", *scores.key)
    assert scores.rows[1][:2] == ("0.5", "73.5 ± 1.3, n 4")
    assert "AKGNN, signed 48.5 % at homophily 0, 88.5 % at 0.8" in scores.summary


def test_rows_with_shares_have_a_panel_of_layers(spec):
    _, shares = panels_of(spec)
    assert shares.title == "AKGNN, signed: share of neighbours"
    assert [layer["name"] for layer in shares.drawn["layers"]] == ["layer 1", "layer 2"]
    assert shares.drawn["layers"][0]["mean"] == pytest.approx([-0.485, 0.015, 0.315])
    assert shares.drawn["layers"][1]["mean"] == [0.5, 0.5, 0.5]
    assert shares.columns == ("homophily", "layer 1", "layer 2", "starts kept")
    assert shares.rows[0] == ("0", "−0.48 ± 0.01", "0.50 ± 0.00", "−1: 4")
    assert "layer 1 −0.48 at homophily 0, 0.32 at 0.8" in shares.summary


def test_old_records_have_scores_alone(spec):
    old = lambda record: replace(record, neighbour_share=(), starts=())  # noqa: E731
    assert [panel.title for panel in panels_of(spec, change=old)] == ["Test accuracy"]


def test_one_run_has_no_band(spec):
    scores, shares = panels_of(spec, keep=lambda record: record.seed == 0)
    assert scores.drawn["rows"][0]["std"] == [0, 0, 0]
    assert scores.rows[0][1] == "50.0, n 1"
    assert shares.rows[0][1] == "−0.50"


def test_a_row_without_runs_at_some_homophily_leaves_a_gap(spec):
    def keep(record):
        return record.plan.run.model != "gcn" or "homophily=0," not in record.plan.run.dataset

    scores, _ = panels_of(spec, keep)
    assert scores.drawn["rows"][2]["x"] == [0.5, 0.8]
    assert scores.rows[0][3] == "–"


def test_the_lowest_point_between_the_ends_is_said(spec):
    def dip(record):
        is_middle = "homophily=0.5" in record.plan.run.dataset
        return replace(record, metrics={"test_accuracy": 10.0}) if is_middle else record

    assert "lowest 10.0 % at 0.5" in panels_of(spec, change=dip)[0].summary


def test_graphs_that_differ_in_more_are_lines_of_their_own(tmp_path, homophily_file):
    text = homophily_file.read_text().replace(
        "homophily=0.5,num_nodes=60", "homophily=0.8,degree=5,num_nodes=60"
    )
    (tmp_path / "two.toml").write_text(text)
    scores, *_ = panels_of(read_spec(tmp_path / "two.toml"))
    assert scores.key[:2] == ["AKGNN, signed, degree 10.0", "AKGNN, signed, degree 5.0"]


def test_groups_go_together_and_ways_apart(tmp_path, homophily_file):
    text = homophily_file.read_text().replace(
        "set = { num_layers = 2 }",
        'set = { num_layers = 1, groups = 2, normalisation = "directed" }',
    )
    (tmp_path / "ways.toml").write_text(text)

    def change(record):
        return replace(record, neighbour_share=(0.1, 0.3, -0.2, -0.4)) if record.starts else record

    _, shares = panels_of(read_spec(tmp_path / "ways.toml"), change=change)
    assert shares.key == ["layer 1, in", "layer 1, out"]
    assert [layer["mean"][0] for layer in shares.drawn["layers"]] == pytest.approx([0.2, -0.3])
