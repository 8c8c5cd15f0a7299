import pytest
import torch

import akgnn
from akgnn.errors import SettingsError, UnknownNameError
from akgnn.layers.readouts import READOUTS, Readout, find_readout, register_readout
from akgnn.models.akgnn_grand import AKGNNGrand
from akgnn.models.gcn import JKNet
from oracles import random_graph

SIGNALS = [torch.randn(2, 5, 6, dtype=torch.float64) for _ in range(3)]
FORMULAS = {
    "sum": lambda stacked: stacked.sum(0),
    "mean": lambda stacked: stacked.mean(0),
    "max": lambda stacked: stacked.amax(0),
    "concat": lambda stacked: torch.cat(list(stacked), -1),
    "last": lambda stacked: stacked[-1],
}


def median(signals):
    return torch.stack(list(signals)).median(0).values


@pytest.fixture
def _registered(monkeypatch):
    monkeypatch.setattr("akgnn.layers.readouts.READOUTS", dict(READOUTS))
    register_readout("median", Readout(reduce=median))


def test_every_readout_has_a_formula_here():
    assert FORMULAS.keys() == READOUTS.keys()


@pytest.mark.parametrize("name", READOUTS)
def test_a_readout_is_its_formula(name):
    before = [signal.clone() for signal in SIGNALS]
    found = find_readout(name).reduce(SIGNALS)
    torch.testing.assert_close(found, FORMULAS[name](torch.stack(SIGNALS)))
    assert all(torch.equal(*pair) for pair in zip(SIGNALS, before, strict=True))


@pytest.mark.parametrize("name", READOUTS)
def test_a_readout_knows_its_name_and_its_width(name):
    readout = find_readout(name)
    assert readout.name == name
    assert readout.width(3, 6) == readout.reduce(SIGNALS).size(-1)


@pytest.mark.parametrize("name", READOUTS)
def test_a_linear_readout_commutes_with_every_matrix(name):
    readout, matrix = find_readout(name), torch.randn(6, 4, dtype=torch.float64)
    after = readout.reduce([signal @ matrix for signal in SIGNALS])
    whole = readout.reduce(SIGNALS)
    commutes = whole.size(-1) == 6 and torch.allclose(after, whole @ matrix)
    assert readout.is_linear == commutes


@pytest.mark.parametrize("name", READOUTS)
def test_a_channelwise_readout_can_be_computed_in_parts(name):
    readout = find_readout(name)
    parts = [readout.reduce([signal[..., part] for signal in SIGNALS]) for part in ([0, 1], [2])]
    whole = readout.reduce([signal[..., :3] for signal in SIGNALS])
    assert readout.is_channelwise == torch.equal(torch.cat(parts, -1), whole)


def test_an_unknown_readout_is_answered_with_a_guess():
    with pytest.raises(UnknownNameError, match=r"Unknown readout 'summ'.*Did you mean 'sum'"):
        find_readout("summ")


@pytest.mark.parametrize(
    ("name", "readout", "message"),
    [
        ("sum", Readout(reduce=median), "There is a readout 'sum' already"),
        ("median", median, "must be a Readout, got function"),
    ],
)
def test_a_taken_name_and_what_is_no_readout_are_refused(name, readout, message):
    with pytest.raises(SettingsError, match=message):
        register_readout(name, readout)
    assert FORMULAS.keys() == READOUTS.keys()


@pytest.mark.usefixtures("_registered")
def test_a_readout_from_outside_trains():
    data = akgnn.load_dataset("csbm:num_nodes=120,homophily=0.9")
    model = akgnn.AKGNN(data.num_features, 16, data.num_classes, num_layers=3, readout="median")
    result = akgnn.fit(model, data, akgnn.TrainSettings(epochs=30))
    assert result.test_accuracy > 70
    h = median(model.signals(data.x, data.graph)[1:])
    torch.testing.assert_close(model.embed(data.x, data.graph), h)


@pytest.mark.usefixtures("_registered")
@pytest.mark.parametrize("network", [AKGNNGrand, JKNet])
def test_a_readout_from_outside_serves_other_models(network):
    graph = random_graph(0)
    model = network(6, 5, 3, num_layers=2, readout="median")
    model(torch.rand(graph.num_nodes, 6), graph).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
