import pytest

from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.report.panels import (
    band,
    common_epochs,
    depth_panels,
    groups_of,
    lambda_panels,
    loss_panels,
    mean_lambda,
    still_words,
)
from report_data import figure_records


@pytest.mark.parametrize(
    ("lengths", "epochs"), [([7], 7), ([10, 20], 20), ([10, 20, 30], 20), ([10, 11, 12, 13], 12)]
)
def test_curves_end_where_fewer_than_half_of_the_seeds_are_left(lengths, epochs):
    assert common_epochs(lengths) == epochs
    assert sum(length >= epochs for length in lengths) * 2 >= len(lengths)
    assert sum(length >= epochs + 1 for length in lengths) * 2 < len(lengths)


def test_bands_are_quartiles_of_the_seeds_still_training():
    curves = band([[1, 1], [2, 5], [3]], 2)
    assert curves.mid == [2, 3]
    assert curves.low == [1.5, 2]
    assert curves.high == [2.5, 4]


def test_a_panel_a_variant_with_a_summary_and_a_table(spec_files):
    spec = read_spec(spec_files[1])
    panels = loss_panels(collect(spec, figure_records(spec)))
    assert len(panels) == 3
    panel = panels[0]
    assert len(panel.drawn["train"]["mid"]) == 12
    assert "4 seeds, 12 epochs" in panel.summary
    assert "with its lowest 0.11 at epoch 12" in panel.summary
    assert panel.rows[0] == ("1", "1.015", "1.015")
    assert [row[0] for row in panel.rows][-1] == "12"


def test_records_without_history_draw_nothing(spec_files):
    spec = read_spec(spec_files[1])
    records = [record.without_history() for record in figure_records(spec)]
    assert loss_panels(collect(spec, records)) == []


@pytest.fixture
def lambda_results(spec_files):
    spec = read_spec(spec_files[2])
    return collect(spec, figure_records(spec))


def test_a_line_of_means_for_each_depth(lambda_results):
    (panel,) = lambda_panels(lambda_results)
    assert panel.drawn["depths"] == [1, 2, 3]
    assert panel.drawn["values"] == [[2.5], [2.5, 2.0], [2.5, 2.0, 1.5]]
    assert panel.columns == ("K", "layer 1", "layer 2", "layer 3")
    assert panel.rows[1] == ("2", "2.50", "2.00", "")


def test_the_summary_says_how_lambda_goes(lambda_results):
    (panel,) = lambda_panels(lambda_results)
    assert "with K = 3 it goes from 2.50 to 1.50" in panel.summary
    assert "falls from every layer to the next in 2 of 2 networks" in panel.summary


def test_means_are_over_seeds(lambda_results):
    assert mean_lambda(lambda_results[2]) == [2.5, 2.0, 1.5]


def test_means_and_deviations_over_depth(spec_files):
    spec = read_spec(spec_files[3])
    (panel,) = depth_panels(collect(spec, figure_records(spec)))
    assert panel.drawn["depths"] == [1, 2, 3]
    assert panel.drawn["test"]["mean"] == [71.5] * 3
    assert panel.drawn["test"]["std"] == pytest.approx([1.291] * 3)
    assert panel.rows[0] == ("1", "4", "99.0 ± 0.0", "71.5 ± 1.3")
    assert "highest, 71.5 %, at K = 1" in panel.summary


def test_one_seed_has_no_band(spec_files):
    spec = read_spec(spec_files[3])
    records = [record for record in figure_records(spec) if record.seed == 0]
    (panel,) = depth_panels(collect(spec, records))
    assert panel.drawn["test"]["std"] == [0, 0, 0]
    assert panel.rows[0] == ("1", "1", "99.0", "70.0")


GRID = """title = "Two by two"
datasets = ["cora", "pubmed"]
[vary]
num_layers = [1, 2]
[[rows]]
label = "A"
model = "akgnn"
[[rows]]
label = "B"
model = "gcn"
"""


def results_of(folder):
    file = folder / "grid.toml"
    file.write_text(GRID)
    return collect(read_spec(file), [])


@pytest.mark.parametrize(
    ("curves", "layers", "words"),
    [
        ([[0.5, 0.501]], 1, "The layer stays at 0.50 throughout"),
        ([[0.5, 0.51], [-0.25, -0.25]], 2, "All 2 layers stay between −0.25 and 0.51 throughout"),
        ([[0.5, 0.53], [-0.25, -0.25]], 2, ""),
    ],
)
def test_curves_that_do_not_move_are_told_in_words(curves, layers, words):
    assert still_words(curves, layers).partition(":")[0] == words


def test_a_group_has_the_grid_of_one_row_on_one_graph(tmp_path):
    groups = groups_of(results_of(tmp_path))
    assert [(g.label, g.graph) for g in groups] == [
        ("A", "Cora"),
        ("A", "PubMed"),
        ("B", "Cora"),
        ("B", "PubMed"),
    ]
    assert [r.cell.point["num_layers"] for r in groups[1].results] == [1, 2]


def test_titles_name_the_row_only_where_there_are_several(tmp_path):
    results = results_of(tmp_path)
    assert groups_of(results)[3].title == "B, PubMed"
    alone = [result for result in results if result.cell.row.label == "B"]
    assert [group.title for group in groups_of(alone)] == ["Cora", "PubMed"]
