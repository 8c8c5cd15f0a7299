import pytest
import torch

from akgnn.bench import layer_case
from akgnn.bench.layer_case import LayerPlan
from akgnn.bench.peers import LAYERS
from akgnn.bench.record import BOTH, FORWARD
from akgnn.errors import SettingsError

CPU = torch.device("cpu")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["even", "power-law"])
def test_all_contestants_are_measured_both_ways(device, kind):
    plan = LayerPlan(graph=kind, num_edges=1000, mean_degree=4, channels=8)
    case = plan.measure(5, torch.device(device))
    assert case.error is None
    assert case.num_nodes == 250
    assert 900 < case.num_edges <= 1000
    assert case.largest_degree == 4 if kind == "even" else case.largest_degree > 15
    assert case.names == list(LAYERS)
    assert case.tasks == [FORWARD, BOTH]
    assert all(len(timed.seconds) == 5 and min(timed.seconds) > 0 for timed in case.timed)
    # A row for each edge, its index, and where each row starts.
    assert case.gathered_bytes == case.num_edges * 8 * 4 + case.num_edges * 4 + 251 * 4
    assert case.bandwidth > 0


def test_growth_measures_both_ways_together_only():
    case = LayerPlan(num_edges=1000, mean_degree=4, channels=2, suite="growth").measure(5, CPU)
    assert case.tasks == [BOTH]
    assert case.suite == "growth"


def test_half_the_bytes_in_bfloat16():
    case = LayerPlan(num_edges=1000, mean_degree=4, channels=8, dtype="bfloat16").measure(5, CPU)
    assert case.gathered_bytes == 1000 * 8 * 2 + 1000 * 4 + 251 * 4
    assert case.find("akgnn", BOTH).seconds


def test_a_graph_that_does_not_fit_is_a_case_that_says_so(monkeypatch):
    monkeypatch.setattr("akgnn.bench.contest.free_bytes", lambda device: 1000)
    case = LayerPlan(num_edges=1000, mean_degree=4).measure(5, CPU)
    assert case.error.startswith("does not fit: needs about ")
    assert case.timed == ()


def test_a_graph_that_cannot_be_made_is_a_case_that_says_so(monkeypatch):
    def fail(*_):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setitem(layer_case.GRAPHS, "even", fail)
    case = LayerPlan(num_edges=1000, mean_degree=4).measure(5, CPU)
    assert case.error == "out of memory"
    assert not case.is_measured


def test_a_wrong_size_is_refused_before_anything_is_measured():
    with pytest.raises(SettingsError, match="needs at least 110 edges"):
        LayerPlan(num_edges=100)


def test_the_default_is_the_layer_of_the_documents():
    plan = LayerPlan()
    assert (plan.num_edges // plan.mean_degree, plan.num_edges, plan.channels) == (
        200_000,
        2_000_000,
        64,
    )
