import importlib
import sys

import pytest
import torch
from torch import nn
from torch_geometric.explain import Explainer, GNNExplainer

from akgnn.errors import MissingExtraError
from akgnn.layers.ak_conv import AKConv
from akgnn.layers.explainable import AKMessagePassing, explainable
from akgnn.models.akgnn import AKGNN
from akgnn.models.akgnn_grand import AKGNNGrand
from explain_data import star
from oracles import random_graph


class Net(nn.Module):
    """A PyG model with our layers in it."""

    def __init__(self, **options):
        super().__init__()
        self.transform = nn.Linear(4, 6)
        self.layers = nn.ModuleList(AKConv(**options) for _ in range(2))
        self.classifier = nn.Linear(6, 3)

    def forward(self, x, edge_index, edge_weight=None):
        h = self.transform(x).relu()
        for layer in self.layers:
            h = layer(h, edge_index, edge_weight)
        return self.classifier(h)


OPTIONS = [
    {},
    {"kernel": "signed", "groups": 3},
    {"normalisation": "row"},
    {"normalisation": "directed", "kernel": "signed"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_copy_gives_the_same(options, weighted):
    graph = random_graph(0, weighted=weighted)
    x, model = torch.randn(graph.num_nodes, 4), Net(**options)
    weight = None if graph.edge_weight is None else graph.edge_weight.float()
    expected = model(x, graph.edge_index, weight)
    torch.testing.assert_close(explainable(model)(x, graph.edge_index, weight), expected)
    assert isinstance(model.layers[0], AKConv)


def test_a_layer_alone():
    graph = random_graph(1)
    x, conv = torch.randn(graph.num_nodes, 4), AKConv(initial=1.4)
    torch.testing.assert_close(explainable(conv)(x, graph.edge_index), conv(x, graph))


def explained(model, x, edge_index, index, *, epochs=30, nodes="attributes", **options):
    explainer = Explainer(
        explainable(model),
        algorithm=GNNExplainer(epochs=epochs, **options),
        explanation_type="model",
        node_mask_type=nodes,
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node"}
        | {"return_type": "raw"},
    )
    return explainer(x, edge_index, index=index)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gnn_explainer_masks_edges_and_nodes(options):
    graph = random_graph(2, num_nodes=20, num_edges=30)
    edge_index, node = graph.edge_index, int(graph.degree.argmax())
    found = explained(Net(**options).eval(), torch.randn(20, 4), edge_index, node)
    assert found.edge_mask.shape == (edge_index.size(1),)
    assert found.node_mask.shape == (20, 4)
    # Only edges within two steps of the node can matter.
    felt = found.edge_mask > 0
    into = felt & (edge_index[1] == node)
    assert bool(into.any())
    near = torch.cat([edge_index[0][edge_index[1] == node], torch.tensor([node])])
    if options.get("normalisation") != "directed":
        assert bool(torch.isin(edge_index[1][felt], near).all())


def test_gnn_explainer_finds_the_neighbour_that_decides():
    data = star()
    # Without the terms that push masks to 0 or 1, so that only the prediction moves them.
    free = {"lr": 0.1, "edge_size": 0.0, "edge_ent": 0.0, "nodes": None}
    found = explained(AKConv(), data.x, data.graph.edge_index, 0, epochs=100, **free)
    source, target = data.graph.edge_index
    masks = {int(s): float(found.edge_mask[k]) for k, s in enumerate(source) if target[k] == 0}
    assert masks.keys() == {1, 2, 3}
    assert masks[1] > 0.9 > 0.1 > max(masks[2], masks[3])


@pytest.mark.parametrize("network", [AKGNN, AKGNNGrand])
def test_akgnn_itself_is_explained(network):
    graph = random_graph(3)
    x = torch.randn(graph.num_nodes, 4)
    model = network(4, 6, 3, num_layers=2).eval()
    torch.testing.assert_close(explainable(model)(x, graph.edge_index), model(x, graph))
    node = int(graph.degree.argmax())
    found = explained(model, x, graph.edge_index, node, epochs=5)
    assert bool((found.edge_mask > 0).any())
    assert bool((found.node_mask > 0).any())


def test_self_loops_keep_their_place_in_the_mask():
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 1, 2]])
    found = explained(AKConv(), torch.randn(3, 2), edge_index, 0, epochs=3)
    assert found.edge_mask.shape == (4,)
    assert found.edge_mask[2:].tolist() == [0, 0]


def test_without_pyg_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    monkeypatch.delitem(sys.modules, "akgnn.layers.explainable")
    with pytest.raises(MissingExtraError, match=r"akgnn\[pyg\]"):
        importlib.import_module("akgnn.layers.explainable")


def test_it_is_the_layer_and_shares_its_scalar():
    graph = random_graph(0)
    x, conv = torch.randn(graph.num_nodes, 4), AKConv(initial=1.6)
    layer = AKMessagePassing(conv)
    torch.testing.assert_close(layer(x, graph.edge_index), conv(x, graph))
    layer(x, graph.edge_index).square().sum().backward()
    assert float(conv.phi.grad) != 0


def test_a_mask_takes_away_messages_and_leaves_the_degrees():
    graph = random_graph(1)
    x, conv = torch.randn(graph.num_nodes, 4), AKConv(initial=3.0)
    layer = AKMessagePassing(conv)
    layer._edge_mask = torch.full((graph.num_edges,), -1e9)
    layer._loop_mask = torch.ones(graph.num_edges, dtype=torch.bool)
    layer.explain = True
    degree = graph.degree.unsqueeze(1)
    # What is left is a / c of the node itself, with a = λ - 1 = 2.
    expected = 2 / (2 + degree) * x
    torch.testing.assert_close(layer(x, graph.edge_index), expected, rtol=1e-5, atol=1e-6)
