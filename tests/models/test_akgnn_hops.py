import pytest
import torch

from akgnn.data.transforms import sparse_if_sparse
from akgnn.errors import SettingsError
from akgnn.graph import Graph
from akgnn.models.adaptive_network import AKGNNSettings
from akgnn.models.akgnn_hops import HopAKGNN
from akgnn.models.replicas import stack
from akgnn.ops.dropout import Noise
from oracles import dense, paper_kernel, random_graph


def build(seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    model = HopAKGNN(6, 4, 3, generator=generator, num_layers=2, **options)
    with torch.no_grad():
        for k, layer in enumerate(model.layers):
            layer.phi.fill_(0.3 + 0.5 * k + 0.1 * seed)
        model.hop_weights.normal_(generator=generator)
    return model.double().eval()


@pytest.mark.parametrize("readout", ["sum", "concat"])
def test_equals_the_formula(readout):
    graph = random_graph(12, weighted=True)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = build(readout=readout)
    hops = [x]
    for lambda_max in model.lambda_max.tolist():
        hops.append(paper_kernel(dense(graph), lambda_max) @ hops[-1])
    shares = model.hop_weights.exp() / model.hop_weights.exp().sum()
    parts = []
    for hop, transform, share in zip(hops, model.transforms, shares, strict=True):
        mapped = hop @ transform.weight + transform.bias
        parts.append(share * mapped / mapped.square().sum(1, keepdim=True).sqrt())
    together = (sum(parts) if readout == "sum" else torch.cat(parts, 1)).relu()
    classifier = model.classifier[0]
    torch.testing.assert_close(model(x, graph), together @ classifier.weight + classifier.bias)
    for signal, expected in zip(model.signals(x, graph), hops, strict=True):
        torch.testing.assert_close(signal, expected)


@pytest.mark.parametrize("input_norm", ["none", "max"])
def test_sparse_features_give_what_dense_ones_give(input_norm):
    graph = random_graph(40)
    x = torch.randn(graph.num_nodes, 6) * (torch.rand(graph.num_nodes, 6) < 0.05)
    sparse = sparse_if_sparse(x)
    assert not isinstance(sparse, torch.Tensor)
    model = build(input_norm=input_norm).float()
    torch.testing.assert_close(model(sparse, graph), model(x, graph))
    torch.testing.assert_close(model.signals(sparse, graph)[1], model.signals(x, graph)[1])


def test_replicas_are_the_models_side_by_side():
    graph = random_graph(20)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    models = [build(seed, layer_dropout=0.0, input_dropout=0.0) for seed in (0, 1)]
    together = stack(models)(x, graph)
    for alone, scores in zip(models, together, strict=True):
        torch.testing.assert_close(scores, alone(x, graph))


def test_every_parameter_gets_a_gradient():
    graph = random_graph(30)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = build().train()
    model(x, graph, Noise(0, 0)).square().sum().backward()
    assert not [name for name, each in model.named_parameters() if each.grad is None]


def test_rows_of_zeros_and_graphs_without_edges_are_finite():
    graph = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.int64), num_nodes=3)
    model = build(transform_bias=False).train()
    scores = model(torch.zeros(3, 6, dtype=torch.float64), graph, Noise(0, 0))
    scores.sum().backward()
    assert scores.isfinite().all()
    assert all(each.grad.isfinite().all() for each in model.parameters())


def test_what_hops_have_no_use_for_is_refused():
    with pytest.raises(SettingsError, match="share_weights=False needs order='transform-first'"):
        AKGNNSettings(order="hops", share_weights=False)
    with pytest.raises(SettingsError, match="groups=2 needs order"):
        AKGNNSettings(order="hops", groups=2)
