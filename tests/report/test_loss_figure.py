import pytest

from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.report.loss_figure import band, common_epochs, loss_panels
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
