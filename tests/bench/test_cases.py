import pytest
import torch

from akgnn.bench import cases, peers
from akgnn.bench.cases import EpochPlan, LayerPlan, akgnn_epoch, pyg_gcn_epoch
from akgnn.bench.peers import LAYERS
from akgnn.bench.record import BOTH, EPOCH, FORWARD
from akgnn.data.catalogue import load_dataset
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

    monkeypatch.setitem(cases.GRAPHS, "even", fail)
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


@pytest.fixture
def small(monkeypatch):
    data = load_dataset("csbm:num_nodes=60")
    monkeypatch.setattr(cases, "load_dataset", lambda name: data)
    return data


@pytest.mark.usefixtures("small")
def test_akgnn_and_pygs_gcn_are_measured():
    case = EpochPlan("cora").measure(5, CPU)
    assert case.names == ["akgnn", "PyG GCN"]
    assert case.tasks == [EPOCH]
    assert all(len(timed.seconds) == 5 for timed in case.timed)
    assert (case.graph, case.num_nodes, case.channels) == ("cora", 60, 64)
    # An epoch is more than products, so it has no share of the bandwidth.
    assert case.share(case.timed[0]) is None


@pytest.mark.usefixtures("small")
def test_without_pyg_akgnn_is_alone(monkeypatch):
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    assert EpochPlan("cora").measure(5, CPU).names == ["akgnn"]


@pytest.mark.parametrize("build", [akgnn_epoch, pyg_gcn_epoch])
def test_epochs_do_train(build, small, monkeypatch):
    losses = []
    measured = torch.nn.functional.cross_entropy

    def watch(*arguments):
        loss = measured(*arguments)
        losses.append(loss.item())
        return loss

    monkeypatch.setattr(cases.F, "cross_entropy", watch)
    epoch = build(small)
    for _ in range(60):
        epoch()
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])
