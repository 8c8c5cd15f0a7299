from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from akgnn.data.catalogue import load_dataset
from akgnn.errors import SettingsError
from akgnn.layers.dropout import DropoutKey
from akgnn.models.gaugo import GAugO
from akgnn.models.gcn import GCN
from akgnn.ops.dropout import Noise
from akgnn.ops.pairs import AllPairs
from akgnn.training.strategies import edge_augmentation
from akgnn.training.strategies.edge_augmentation import (
    EdgeAugmentation,
    EdgeAugmentationSettings,
    classify,
    edge_loss,
    edge_probabilities,
    find_pairs,
)
from akgnn.training.strategies.supervised import training_loss
from oracles import dense

DATA = load_dataset("csbm:num_nodes=40,degree=3,num_features=5")
DATA = replace(DATA, x=DATA.x.double().abs())
PAIRS = AllPairs(DATA.graph)
ADJACENCY = dense(DATA.graph)
UPPER = tuple(torch.triu_indices(40, 40, 1))
# Not the first epoch, which has the pretraining too.
NOISE = Noise(0, 1)


def model_of(dropout=0.0):
    generator = torch.Generator().manual_seed(0)
    return GAugO(5, 6, 4, edge_channels=3, dropout=dropout, generator=generator).double()


def losses_of(model, noise=NOISE, **settings):
    strategy = EdgeAugmentation(EdgeAugmentationSettings(**settings))
    return list(strategy.losses(model, DATA, noise))


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_probabilities_equal_the_dense_formula(alpha):
    z = torch.rand(40, 3, dtype=torch.float64)
    m = z @ z.T
    expected = alpha * m / m.max() + (1 - alpha) * ADJACENCY
    p = edge_probabilities(z, PAIRS, PAIRS.inner(z), alpha)
    torch.testing.assert_close(p, expected[UPPER])


def test_probabilities_of_an_encoder_of_zeros_are_zero():
    z = torch.zeros(40, 3, dtype=torch.float64)
    assert not edge_probabilities(z, PAIRS, PAIRS.inner(z), 1.0).any()


def test_the_edge_loss_equals_the_weighted_cross_entropy_written_out():
    z = torch.randn(40, 3, dtype=torch.float64)
    target = ADJACENCY + torch.eye(40, dtype=torch.float64)
    ones, entries = target.sum(), 40**2
    bce = F.binary_cross_entropy_with_logits(z @ z.T, target, pos_weight=(entries - ones) / ones)
    expected = entries / (2 * (entries - ones)) * bce
    torch.testing.assert_close(edge_loss(z, PAIRS, PAIRS.inner(z), 0), expected)


def test_on_the_graph_itself_it_classifies_as_the_gcn_does():
    model = model_of(dropout=0.5)
    logits = classify(model.classifier, DATA.x, ADJACENCY, NOISE)
    torch.testing.assert_close(logits, model(DATA.x, DATA.graph, NOISE))


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_the_joint_loss_and_its_gradients_equal_the_dense_formula(alpha, monkeypatch):
    samples = []

    def record(p, temperature, key):
        samples.append(sample(p, temperature, key))
        return samples[-1]

    sample = edge_augmentation.straight_through_bernoulli
    monkeypatch.setattr(edge_augmentation, "straight_through_bernoulli", record)
    model = model_of()
    (loss,) = losses_of(model, alpha=alpha, beta=0.7, temperature=0.9)
    found = torch.autograd.grad(loss, list(model.parameters()))

    z = model.encoder(DATA.x, DATA.graph)
    m = z @ z.T
    p = alpha * m / m.max() + (1 - alpha) * ADJACENCY
    s = torch.zeros_like(p).index_put(
        UPPER, sample(p[UPPER], 0.9, NOISE.key(DropoutKey.SAMPLED_EDGES))
    )
    assert torch.equal(s[UPPER], samples[0])
    a = s + s.T + torch.eye(40, dtype=torch.float64)
    d = a.sum(1) ** -0.5
    kernel = d[:, None] * a * d
    h = DATA.x
    for k, layer in enumerate(model.classifier.layers):
        h = kernel @ (torch.relu(h) if k else h) @ layer.linear.weight + layer.bias
    expected = training_loss(h, DATA) + 0.7 * edge_loss(z, PAIRS, PAIRS.inner(z), 0)
    torch.testing.assert_close(loss, expected)
    for one, other in zip(
        found, torch.autograd.grad(expected, list(model.parameters())), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_the_classification_teaches_the_edge_predictor():
    model = model_of()
    (loss,) = losses_of(model, beta=0.0)
    loss.backward()
    assert all(bool((p.grad != 0).any()) for p in model.encoder.parameters())


def test_enough_candidates_are_all_pairs():
    model = model_of(dropout=0.5)
    (every,), (listed,) = (losses_of(model, beta=0.0, candidates=k) for k in (0, 40))
    torch.testing.assert_close(every, listed)


def test_candidates_hold_the_edges_and_some_others():
    pairs = find_pairs(DATA, 2)
    matrix = torch.zeros(40, 40, dtype=torch.float64)
    matrix[pairs.row, pairs.col] = 1
    matrix += matrix.T.clone()
    assert bool((matrix >= ADJACENCY).all())
    others = (matrix - ADJACENCY).sum(1)
    assert bool((others >= 2).all())
    assert float(others.sum()) <= 2 * 2 * 40


def test_the_first_epoch_pretrains_each_net_alone():
    model = model_of(dropout=0.5)
    steps = losses_of(model, Noise(0), edge_epochs=2, class_epochs=3)
    assert len(steps) == 2 + 3 + 1
    assert len(losses_of(model, Noise(0, 1), edge_epochs=2, class_epochs=3)) == 1
    for step, (net, other) in zip(
        (0, 2),
        ((model.encoder, model.classifier), (model.classifier, model.encoder)),
        strict=True,
    ):
        model.zero_grad()
        steps[step].backward()
        assert all(p.grad is not None for p in net.parameters())
        assert all(p.grad is None for p in other.parameters())
    assert steps[2] != steps[3], "each step drops other values"


def test_other_data_are_not_given_the_pairs_of_the_first():
    strategy = EdgeAugmentation()
    other = load_dataset("csbm:num_nodes=60,degree=3,num_features=5")
    model = GAugO(5, 6, 4)
    for data in (replace(DATA, x=DATA.x.float()), other):
        (loss,) = strategy.losses(model, data, NOISE)
        (alone,) = EdgeAugmentation().losses(model, data, NOISE)
        assert torch.equal(loss, alone)


def test_another_model_is_refused():
    with pytest.raises(SettingsError, match="GAugO"):
        losses_of(GCN(5, 4, 4))
