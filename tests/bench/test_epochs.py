import pytest
import torch

from akgnn.bench import epochs, peers
from akgnn.bench.epochs import EpochPlan, akgnn_epoch, pyg_gcn_epoch
from akgnn.bench.record import EPOCH
from akgnn.data.catalogue import load_dataset

CPU = torch.device("cpu")


@pytest.fixture
def small(monkeypatch):
    data = load_dataset("csbm:num_nodes=60")
    monkeypatch.setattr(epochs, "load_dataset", lambda name: data)
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

    monkeypatch.setattr(epochs.F, "cross_entropy", watch)
    epoch = build(small)
    for _ in range(60):
        epoch()
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])
