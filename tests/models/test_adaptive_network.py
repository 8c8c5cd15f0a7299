"""What both orders share."""

import pytest
import torch

from akgnn.errors import AkgnnError, SettingsError
from akgnn.graph import Graph
from akgnn.layers.dropout import Dropout, NodeDropout
from akgnn.layers.kernels import KERNELS, InitialValue
from akgnn.models.adaptive_network import AKGNNSettings
from akgnn.models.akgnn import AKGNN
from akgnn.models.akgnn_grand import AKGNNGrand
from oracles import random_graph

BOTH = pytest.mark.parametrize("network", [AKGNN, AKGNNGrand])


@BOTH
def test_edge_index_is_its_graph(network):
    graph = random_graph(0, weighted=True)
    x, model = torch.randn(graph.num_nodes, 6), network(6, 5, 3).eval()
    weight = graph.edge_weight.float()
    same = Graph.from_edge_index(graph.edge_index, weight, num_nodes=graph.num_nodes)
    assert torch.equal(model(x, graph.edge_index, edge_weight=weight), model(x, same))
    plain = Graph.from_edge_index(graph.edge_index, num_nodes=graph.num_nodes)
    assert torch.equal(model(x, graph.edge_index), model(x, plain))
    for one, other in zip(model.signals(x, graph.edge_index), model.signals(x, plain), strict=True):
        assert torch.equal(one, other)


@BOTH
def test_the_graph_is_built_once_for_all_layers(network, monkeypatch):
    graph = random_graph(1)
    built, build = [], Graph.from_edge_index

    def counted(*arguments, **options):
        built.append(arguments)
        return build(*arguments, **options)

    monkeypatch.setattr(Graph, "from_edge_index", counted)
    network(6, 5, 3, num_layers=4)(torch.rand(graph.num_nodes, 6), graph.edge_index)
    assert len(built) == 1


@BOTH
@pytest.mark.parametrize("kernel", ["paper", "signed"])
def test_edge_weights_that_learn_get_a_gradient(network, kernel):
    graph = random_graph(2)
    x, model = torch.rand(graph.num_nodes, 6), network(6, 5, 3, kernel=kernel).eval()
    # Other layers than adaptive ones would do too, but only these take a gradient to the edges.
    weight = torch.ones(graph.num_edges, requires_grad=True)
    out = model(x, graph.edge_index, edge_weight=weight)
    torch.testing.assert_close(out, model(x, graph), rtol=1e-4, atol=1e-5)
    out.square().sum().backward()
    assert weight.grad.isfinite().all()
    assert (weight.grad != 0).any()


@BOTH
def test_a_graph_does_not_take_further_weights(network):
    graph = random_graph(3)
    with pytest.raises(SettingsError, match="edge_weight goes with edge_index"):
        network(6, 5, 3)(torch.rand(12, 6), graph, edge_weight=torch.ones(graph.num_edges))


@BOTH
def test_a_restart_puts_every_layer_to_its_initial_value(network):
    graph, model = random_graph(4), network(6, 5, 3, kernel="signed", num_layers=3)
    assert model.kernel_starts() == KERNELS["signed"].learning.restarts
    model.restart(InitialValue("gcn"), graph)
    assert [layer.phi.item() for layer in model.layers] == [pytest.approx(graph.mean_degree)] * 3
    model.restart(InitialValue(-0.5), graph)
    assert [layer.phi.item() for layer in model.layers] == [-0.5] * 3


@BOTH
@pytest.mark.parametrize("options", [{"kernel_start": 0.3}, {"learn_lambda": False}])
def test_settings_that_name_an_initial_value_leave_no_others(network, options):
    assert network(6, 5, 3, kernel="signed", **options).kernel_starts() == ()


@BOTH
def test_scalars_and_shares_are_those_of_the_layers(network):
    graph, model = random_graph(5), network(6, 5, 3, num_layers=3)
    with torch.no_grad():
        for k, layer in enumerate(model.layers):
            layer.phi.fill_(k + 0.5)
    torch.testing.assert_close(model.lambda_max, torch.tensor([1.5, 2.5, 3.5]))
    shares = [layer.neighbour_share(graph) for layer in model.layers]
    torch.testing.assert_close(model.neighbour_share(graph), torch.stack(shares))
    assert network(6, 5, 3, kernel="signed").lambda_max is None


@BOTH
def test_no_two_dropouts_share_their_masks(network):
    model = network(6, 5, 3, num_layers=1000, classifier_layers=1000)
    drops = [m for m in model.modules() if isinstance(m, Dropout | NodeDropout)]
    assert len(drops) == len({drop.key for drop in drops}) == 3 + 1000 + 1000


@BOTH
def test_a_deep_classifier_has_a_non_linearity_between(network):
    h, model = torch.randn(7, 5), network(6, 5, 3, classifier_layers=3).eval()
    expected = h
    for k, layer in enumerate(model.classifier):
        expected = (torch.relu(expected) if k else expected) @ layer.weight + layer.bias
    torch.testing.assert_close(model.classify(h), expected)


GRAND = {"order": "propagate-first"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_layers": 0}, "num_layers must be from 1 to 1000"),
        ({"num_layer": 3}, "Did you mean 'num_layers'"),
        ({"readout": "meen"}, "Unknown readout 'meen'.*Did you mean 'mean'"),
        ({"kernel": "papper"}, "Unknown kernel 'papper'.*Did you mean 'paper'"),
        ({"layer_dropout": 1.0}, "layer_dropout must be"),
        ({"normalisation": "both"}, "normalisation must be one of sym, row"),
        ({"order": "propagate"}, "order must be one of transform-first, propagate-first"),
        ({**GRAND, "share_weights": False}, "share_weights=False needs order='transform-first'"),
        ({**GRAND, "groups": 2}, "groups=2 needs order='transform-first' or 'blocks'"),
        ({"groups": 3}, "hidden_channels=64 cannot be shared out evenly among groups=3"),
        ({"batch_norm": True}, "batch_norm=True needs order='propagate-first'"),
        ({"order": "blocks", "batch_norm": True}, "needs order='propagate-first'"),
        ({"order": "blocks", "share_weights": False}, "share_weights=False needs order"),
        ({"norm": "layer"}, "norm='layer' needs order='blocks'"),
        ({**GRAND, "residual": False}, "residual=False needs order='blocks'"),
        ({"input_transform": False}, "input_transform=False needs order='blocks'"),
        ({"order": "blocks", "num_layers": 0}, "num_layers must be from 1 to 1000"),
        ({"order": "blocks", "groups": 128}, "cannot be shared out evenly among groups=128"),
        *(
            ({"recompute": True, **more}, "recompute needs order='transform-first'")
            for more in (
                GRAND,
                {"order": "blocks"},
                {"readout": "max"},
                {"share_weights": False},
                {"normalisation": "directed"},
            )
        ),
    ],
)
def test_wrong_settings_are_refused(options, message):
    with pytest.raises(AkgnnError, match=message):
        AKGNNSettings.from_mapping(options)


@pytest.mark.parametrize(
    ("options", "is_chain"),
    [
        ({}, True),
        ({"readout": "mean", "normalisation": "row"}, True),
        ({"readout": "concat"}, False),
        ({"share_weights": False}, False),
        (GRAND, False),
    ],
)
def test_a_chain_has_only_dropout_and_a_sum_between_transform_and_classifier(options, is_chain):
    assert AKGNNSettings.from_mapping(options).is_chain == is_chain
