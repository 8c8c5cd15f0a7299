from dataclasses import replace

import pytest

from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.report.training_figure import training_panels
from akgnn.training.history import History
from akgnn.training.state import RestartResult
from report_data import FIRST, record_of

TRAINING = f"""title = "Scalars"
shows = "training"
keep_history = true
datasets = ["{FIRST}"]
seeds = 2
[[rows]]
label = "AKGNN"
model = "akgnn"
set = {{ num_layers = 2, groups = 2 }}
[[rows]]
label = "GCN"
model = "gcn"
"""


@pytest.fixture
def spec(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(TRAINING, encoding="utf-8")
    return read_spec(file)


def panels_of(spec, history, starts=()):
    records = [
        replace(record_of(cell, seed, 80.0), history=history(seed), starts=starts)
        for cell in spec.cells
        for seed in range(2)
    ]
    return training_panels(collect(spec, records))


def history_of(shares, start=()):
    scores = [1.0] * len(shares)
    return History(scores, scores, scores, scores, [[]] * len(shares), shares, list(start))


def test_a_line_for_each_layer_that_is_the_mean_of_its_groups(spec):
    def history(seed):
        return history_of([[0.1 + seed / 10, 0.3 + seed / 10, -0.5, -0.5], [0.4, 0.6, 0.0, -1.0]])

    # A model without kernels has no panel.
    (panel,) = panels_of(spec, history)
    assert panel.title == f"AKGNN, {FIRST}"
    assert panel.key == ["layer 1", "layer 2"]
    first, second = panel.drawn["rows"]
    assert (first["x"], first["mean"]) == ([1, 2], [0.25, 0.5])
    assert first["std"] == [pytest.approx(0.071, abs=1e-3), 0.0]
    assert second["mean"] == [-0.5, -0.5]
    assert panel.rows[0] == ("1", "0.25 ± 0.07", "−0.50 ± 0.00")
    assert "2 epochs of 2 runs: layer 1 from 0.25 to 0.50; layer 2 from −0.50" in panel.summary


def test_of_several_starts_the_one_that_was_kept(spec):
    starts = tuple(RestartResult(name, 1, 0.5, 80.0, name == "b") for name in "ab")
    rows = [[0.1] * 4, [0.7] * 4]
    (panel,) = panels_of(spec, lambda seed: history_of(rows, start=[0, 1]), starts)
    assert panel.drawn["rows"][0]["mean"] == [0.7]


def test_a_curve_ends_where_fewer_than_half_of_the_runs_train(spec):
    (panel,) = panels_of(spec, lambda seed: history_of([[0.1] * 4] * (3 + 40 * seed)))
    assert panel.drawn["rows"][0]["x"][-1] == 43
    assert len(panel.rows) <= 25


def test_records_without_epochs_have_no_panel(spec):
    assert panels_of(spec, lambda seed: None) == []
