import math

import numpy as np
import pytest
import torch

import akgnn
from akgnn.report.chain import Chain, HeadLayer, chain_of, chain_scores
from akgnn.report.whole_numbers import CLOSE, whole_numbers
from akgnn.training.calibration import UNCALIBRATED
from akgnn.training.fit import predict_logits


@pytest.fixture(scope="module")
def data():
    # A mean degree of 2 leaves some nodes without edges.
    return akgnn.load_dataset("csbm:num_nodes=150,degree=2")


def chain(data, **settings):
    """A model with its scalars anywhere, and its chain."""
    torch.manual_seed(0)
    options = {"num_layers": 3, **settings}
    model = akgnn.AKGNN(data.num_features, 16, data.num_classes, **options).eval()
    with torch.no_grad():
        for layer in model.layers:
            layer.phi.copy_(torch.randn(layer.phi.shape))
    return model, chain_of(model, data)


FORMS = [
    {},
    {"kernel": "signed", "readout": "mean", "classifier_layers": 2},
    {"kernel": "signed", "groups": 4, "readout": "max"},
    {"kernel": "smooth", "readout": "concat", "normalisation": "row", "activation": "leaky_relu"},
]


@pytest.mark.parametrize("settings", FORMS)
def test_the_chain_gives_the_scores_of_its_model(data, settings):
    model, found = chain(data, **settings)
    scores = chain_scores(found, data.graph, found.scalars, found.signal)
    assert float((scores - predict_logits(model, data)).abs().max()) < 1e-5


def test_infinite_scalars_are_limits(data):
    for settings in ({}, {"kernel": "signed"}):
        _, found = chain(data, **settings)
        limit, near = (
            chain_scores(found, data.graph, [[value]] * 3, found.signal.double())
            for value in (math.inf, 1e9)
        )
        assert float((limit - near).abs().max()) < 1e-6


@pytest.mark.parametrize("settings", FORMS)
def test_rounding_changes_no_class_and_hardly_a_probability(data, settings):
    _, found = chain(data, **settings)
    signal = found.signal_of(whole_numbers(found, data.graph, UNCALIBRATED).signal)
    random = np.random.default_rng(1)
    drawn = [random.uniform(1, 6, len(layer)).tolist() for layer in found.scalars]
    for scalars in (found.scalars, drawn):
        exact, rounded = (
            chain_scores(found, data.graph, scalars, each).log_softmax(1)
            for each in (found.signal.double(), signal)
        )
        assert torch.equal(exact.argmax(1), rounded.argmax(1))
        assert float((exact - rounded).abs().max()) < 2 * CLOSE


def chain_with(signal):
    """The simplest chain: the signal is the class scores."""
    head = (HeadLayer(None, torch.zeros(signal.size(1), dtype=torch.float64)),)
    return Chain("lambda", False, ((2.0,),), "sym", "last", False, signal, head, 0.0)


@pytest.mark.parametrize(
    "settings",
    [
        {"classifier_layers": 2},
        {"groups": 2, "activation": "leaky_relu"},
        {"readout": "concat", "kernel": "signed"},
    ],
)
def test_few_features_leave_few_axes(settings):
    few = akgnn.load_dataset("csbm:num_nodes=150,num_features=5")
    _, found = chain(few, **settings)
    rounded = whole_numbers(found, few.graph, UNCALIBRATED)
    assert rounded.numbers.shape == (5, 150)
    exact, close = (
        chain_scores(found, few.graph, found.scalars, signal).log_softmax(1)
        for signal in (found.signal.double(), found.signal_of(rounded.signal))
    )
    assert float((exact - close).abs().max()) <= CLOSE


def test_channels_that_go_together_are_one_axis(data):
    base = torch.randn(150, 1, generator=torch.Generator().manual_seed(0))
    signal = base @ torch.tensor([[1.0, -2.0, 0.5, 3.0]])
    found = whole_numbers(chain_with(signal), data.graph, UNCALIBRATED)
    # What single precision leaves of the others may be there.
    assert (found.numbers.max(axis=1) > 2**8).sum() == 1
    assert float((found.signal - signal).abs().max()) < 1e-4


def test_nodes_that_are_all_alike_need_no_numbers(data):
    signal = torch.tensor([0.5, -1.25]).expand(150, 2)
    found = whole_numbers(chain_with(signal), data.graph, UNCALIBRATED)
    assert found.numbers.shape == (0, 150)
    assert torch.equal(found.signal.float(), signal)


def test_classes_that_are_close_get_more_bits(data):
    signal = torch.randn(150, 2, generator=torch.Generator().manual_seed(0))
    bits = []
    for gap in (1e-2, 1e-6):
        signal[:50, 1] = signal[:50, 0] - gap
        found = whole_numbers(chain_with(signal), data.graph, UNCALIBRATED)
        assert torch.equal(found.signal.argmax(1), signal.argmax(1))
        bits.append(math.log2(int(found.numbers.max()) + 1))
    assert bits[1] > bits[0]


def test_a_signal_that_is_not_finite_is_no_chain(data):
    model, _ = chain(data)
    with torch.no_grad():
        model.transforms[0].weight.fill_(math.inf)
    assert "not finite" in chain_of(model, data)
