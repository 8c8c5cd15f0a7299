from dataclasses import replace

import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.errors import SettingsError
from akgnn.layers.dropout import DropoutKey
from akgnn.models.akgnn import AKGNN
from akgnn.models.gcn import GCN
from akgnn.ops.dropout import Noise
from akgnn.training.strategies.layer_sampling import (
    LayerSampling,
    LayerSamplingSettings,
    dense_rows,
    draw,
    draw_among,
    importance,
)
from oracles import random_graph


def test_importance_is_a_power_of_the_norm_of_columns():
    graph = random_graph(0)
    norms = graph.renormalised.to_dense().square().sum(0)
    torch.testing.assert_close(importance(graph.renormalised), norms / norms.sum())
    norms = norms.sqrt()
    torch.testing.assert_close(importance(graph.renormalised, 1), norms / norms.sum())


def test_draws_follow_the_distribution():
    q = torch.tensor([0.1, 0.0, 0.6, 0.3])
    drawn = torch.bincount(draw(q, 100_000, Noise(0).key(0)), minlength=4) / 100_000
    torch.testing.assert_close(drawn, q, rtol=0, atol=0.008)
    assert drawn[1] == 0


def test_draws_among_nodes_have_no_repeats_and_follow_the_distribution():
    q = torch.tensor([0.1, 0.4, 0.2, 0.2, 0.1])
    nodes = torch.tensor([0, 2, 3])
    drawn = [draw_among(nodes, q, 2, Noise(0, step).key(0)).tolist() for step in range(20_000)]
    assert {len(set(each)) for each in drawn} == {2}
    first = torch.bincount(torch.tensor([each[0] for each in drawn]), minlength=5) / 20_000
    torch.testing.assert_close(first, torch.tensor([0.2, 0, 0.4, 0.4, 0]), rtol=0, atol=0.02)
    # After 0, which is first in a fifth of the draws, 2 and 3 are as likely.
    after = [each[1] for each in drawn if each[0] == 0]
    assert abs(after.count(2) / len(after) - 0.5) < 0.04


def test_few_nodes_are_all_drawn():
    nodes, q = torch.tensor([4, 1]), torch.full((5,), 0.2)
    assert draw_among(nodes, q, 2, Noise(0).key(0)).tolist() == [4, 1]


def test_rows_have_their_zeros():
    matrix = random_graph(1).renormalised
    rows = torch.tensor([3, 0, 7])
    torch.testing.assert_close(dense_rows(matrix, rows), matrix.to_dense()[rows])


def loss_by_hand(model, data, batch, sample, q, size):
    """The batch's cross-entropy from dense matrices: no dropout, a sample of the top layer."""
    a = data.graph.renormalised.to_dense()
    bottom, top = model.layers
    h = bottom.shifted(a @ (data.x @ bottom.linear.weight)).relu()[sample]
    weights = a[batch][:, sample] / (size * q[sample])
    logits = top.shifted(weights @ (h @ top.linear.weight))
    return torch.nn.functional.cross_entropy(logits, data.y[batch])


def test_the_estimate_has_no_bias():
    graph = random_graph(2)
    matrix = graph.renormalised
    q, h = importance(matrix), torch.randn(graph.num_nodes, 3)
    rows = dense_rows(matrix, torch.arange(graph.num_nodes))
    estimates = []
    for step in range(2000):
        sample = draw(q, 8, Noise(0, step).key(0))
        estimates.append(rows[:, sample] / (8 * q[sample]) @ h[sample])
    stacked = torch.stack(estimates)
    error = stacked.std(0) / 2000**0.5
    assert bool(((stacked.mean(0) - matrix.to_dense() @ h).abs() < 5 * error + 1e-6).all())


@pytest.mark.parametrize("size", [5, 1000])
def test_neighbours_are_weighted_as_in_the_public_code(size):
    data = load_dataset("csbm:num_nodes=300")
    model = GCN(data.num_features, 8, 4, dropout=0.0)
    options = {"batch_size": 10_000, "sample_size": size, "sample_from": "neighbours"}
    (loss,) = LayerSampling(LayerSamplingSettings(**options)).losses(model, data, Noise(0))
    a = data.graph.renormalised.to_dense()
    q = a.norm(dim=0) / a.norm(dim=0).sum()
    train = data.split.train
    near = (a[train] != 0).any(0).nonzero().squeeze(1)
    sample = draw_among(near, q, size, Noise(0).key(DropoutKey.BATCH_NODES))
    assert len(sample) == min(size, len(near))
    assert len(near) < 300
    torch.testing.assert_close(loss, loss_by_hand(model, data, train, sample, q, size))


def test_nodes_of_the_graph_are_weighted_as_in_the_paper():
    data = load_dataset("csbm:num_nodes=300")
    model = GCN(data.num_features, 8, 4, dropout=0.0)
    options = {"batch_size": 10_000, "sample_size": 50}
    (loss,) = LayerSampling(LayerSamplingSettings(**options)).losses(model, data, Noise(0))
    q = importance(data.graph.renormalised)
    sample = draw(q, 50, Noise(0).key(DropoutKey.BATCH_NODES))
    torch.testing.assert_close(loss, loss_by_hand(model, data, data.split.train, sample, q, 50))


def test_an_epoch_visits_every_training_node_once():
    data = load_dataset("csbm:num_nodes=300")
    model = GCN(data.num_features, 8, 4)
    strategy = LayerSampling(LayerSamplingSettings(batch_size=7, sample_size=50))
    losses = list(strategy.losses(model, data, Noise(0)))
    assert len(losses) == -(-len(data.split.train) // 7)
    assert all(loss.isfinite() and loss.requires_grad for loss in losses)


def test_other_models_are_refused():
    data = load_dataset("csbm:num_nodes=100")
    with pytest.raises(SettingsError, match="a GCN of two layers"):
        next(LayerSampling().losses(AKGNN(32, 8, 4), data, Noise(0)))


def test_batches_are_weighted_by_class():
    data = load_dataset("csbm:num_nodes=300")
    model = GCN(data.num_features, 8, 4)
    strategy = LayerSampling(LayerSamplingSettings(batch_size=7, sample_size=50))
    plain, doubled = (
        next(strategy.losses(model, replace(data, class_weight=weight), Noise(0)))
        for weight in (None, torch.full((4,), 2.0))
    )
    torch.testing.assert_close(doubled, 2 * plain)
