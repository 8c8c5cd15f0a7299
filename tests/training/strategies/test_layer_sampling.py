from dataclasses import replace

import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.errors import SettingsError
from akgnn.models.akgnn import AKGNN
from akgnn.models.gcn import GCN
from akgnn.ops.dropout import Noise
from akgnn.training.strategies.layer_sampling import (
    LayerSampling,
    LayerSamplingSettings,
    draw,
    estimate_rows,
    importance,
)
from oracles import random_graph


def test_importance_is_the_squared_norm_of_columns():
    graph = random_graph(0)
    norms = graph.renormalised.to_dense().square().sum(0)
    torch.testing.assert_close(importance(graph.renormalised), norms / norms.sum())


def test_draws_follow_the_distribution():
    q = torch.tensor([0.1, 0.0, 0.6, 0.3])
    drawn = torch.bincount(draw(q, 100_000, Noise(0).key(0)), minlength=4) / 100_000
    torch.testing.assert_close(drawn, q, rtol=0, atol=0.008)
    assert drawn[1] == 0


def test_weights_are_the_defining_formula():
    graph = random_graph(1)
    matrix = graph.renormalised
    q = importance(matrix)
    rows, sample = torch.tensor([3, 0, 7]), torch.tensor([1, 1, 5, 9])
    expected = matrix.to_dense()[rows][:, sample] / (4 * q[sample])
    torch.testing.assert_close(estimate_rows(matrix, rows, sample, q), expected)


def test_the_estimate_has_no_bias():
    graph = random_graph(2)
    matrix = graph.renormalised
    q, h = importance(matrix), torch.randn(graph.num_nodes, 3)
    rows = torch.arange(graph.num_nodes)
    estimates = []
    for step in range(2000):
        sample = draw(q, 8, Noise(0, step).key(0))
        estimates.append(estimate_rows(matrix, rows, sample, q) @ h[sample])
    stacked = torch.stack(estimates)
    error = stacked.std(0) / 2000**0.5
    assert bool(((stacked.mean(0) - matrix.to_dense() @ h).abs() < 5 * error + 1e-6).all())


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
