import pytest

from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.report.depth_figure import depth_panels
from report_data import figure_records


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
