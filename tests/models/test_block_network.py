import pytest
import torch
import torch_geometric.nn as pyg

from akgnn.data.transforms import sparse_if_sparse
from akgnn.errors import DataError, GraphError, SettingsError, UnknownNameError
from akgnn.graph import Graph
from akgnn.layers.norms import NORMS
from akgnn.models.block_network import BlockGAT, BlockGCN, BlockGraphSAGE
from akgnn.models.gcn import GCN
from akgnn.models.pyg_models import GAT, GraphSAGE
from akgnn.models.registry import build_model, find_model
from akgnn.ops.dropout import Noise
from oracles import dense, normalised, random_graph, renormalised, sparse

CLASSES = {"gcn": BlockGCN, "graphsage": BlockGraphSAGE, "gat": BlockGAT}
EVERY = pytest.mark.parametrize("name", CLASSES)


def build(name, **options):
    generator = torch.Generator().manual_seed(0)
    heads = {"heads": 2} if name == "gat" else {}
    options = {"num_layers": 3, **heads, **options}
    model = CLASSES[name](6, 4, 3, generator=generator, **options)
    with torch.no_grad():
        # Norms, biases and running means too must have left their start.
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_floating_point():
                tensor += torch.rand(tensor.shape, generator=generator)
    return model.double().eval()


def features(graph):
    return torch.randn(graph.num_nodes, 6, dtype=torch.float64)


def mean_kernel(graph):
    adjacency = dense(graph)
    degree = adjacency.sum(1, keepdim=True)
    return adjacency / torch.where(degree > 0, degree, 1)


def attention(layer, h, adjacency):
    """Softmax over neighbours and self of LeakyReLU(a_s · h_u + a_t · h_v), densely."""
    heads, width = layer.att_src.shape[1:]
    h = h.view(len(h), heads, width)
    linked = (adjacency + torch.eye(len(h))) > 0
    outputs = []
    for k in range(heads):
        source, target = h[:, k] @ layer.att_src[0, k], h[:, k] @ layer.att_dst[0, k]
        score = torch.nn.functional.leaky_relu(target[:, None] + source[None, :], 0.2)
        weight = torch.softmax(score.masked_fill(~linked, -torch.inf), dim=1)
        outputs.append(weight @ h[:, k])
    return torch.cat(outputs, 1)


def propagated(name, model, graph, k, h):
    if name == "gat":
        return attention(model.layers[k], h, dense(graph))
    return (renormalised(graph) if name == "gcn" else mean_kernel(graph)) @ h


def by_the_formula(name, model, graph, x):
    """The outputs of all blocks, written out."""
    h, settings, outputs = x, model.settings, []
    if settings.input_transform:
        h = x @ model.input_transform.weight + model.input_transform.bias
    for k, transform in enumerate(model.transforms):
        mixed = propagated(name, model, graph, k, h @ transform.weight)
        if settings.residual:
            mixed = mixed + h @ model.residuals[k].weight + model.residuals[k].bias
        else:
            mixed = mixed + transform.bias
        h = normalised(model.norms[k], settings.norm, mixed).relu()
        outputs.append(h)
    return outputs


@EVERY
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("input_transform", [True, False])
@pytest.mark.parametrize("readout", ["sum", "concat", "last"])
def test_equals_the_dense_formula(name, norm, residual, input_transform, readout):
    graph = random_graph(3)
    x = features(graph)
    options = {"norm": norm, "residual": residual, "input_transform": input_transform}
    model = build(name, readout=readout, **options)
    outputs = by_the_formula(name, model, graph, x)
    together = {
        "sum": lambda: sum(outputs),
        "concat": lambda: torch.cat(outputs, 1),
        "last": lambda: outputs[-1],
    }[readout]()
    expected = together @ model.classifier.weight + model.classifier.bias
    torch.testing.assert_close(model(x, graph), expected)


def test_a_block_of_gcn_equals_pygs_layer_and_linear_map():
    graph, model = random_graph(0), build("gcn", num_layers=1)
    x = features(graph)
    layer, own = pyg.GCNConv(6, 4, bias=False).double(), torch.nn.Linear(6, 4).double()
    with torch.no_grad():
        layer.lin.weight.copy_(model.transforms[0].weight.T)
        own.weight.copy_(model.residuals[0].weight.T)
        own.bias.copy_(model.residuals[0].bias)
    expected = model.classifier((layer(x, graph.edge_index) + own(x)).relu())
    torch.testing.assert_close(model(x, graph), expected)


def test_a_block_of_gcn_without_residual_equals_pygs_layer_and_its_bias():
    graph, model = random_graph(0), build("gcn", num_layers=1, residual=False)
    x = features(graph)
    layer = pyg.GCNConv(6, 4).double()
    with torch.no_grad():
        model.transforms[0].bias.uniform_()
        layer.lin.weight.copy_(model.transforms[0].weight.T)
        layer.bias.copy_(model.transforms[0].bias)
    expected = model.classifier(layer(x, graph.edge_index).relu())
    torch.testing.assert_close(model(x, graph), expected)


def test_a_block_of_graphsage_equals_pygs_layer():
    graph, model = random_graph(0), build("graphsage", num_layers=1)
    x = features(graph)
    layer = pyg.SAGEConv(6, 4, aggr="mean").double()
    with torch.no_grad():
        layer.lin_l.weight.copy_(model.transforms[0].weight.T)
        layer.lin_l.bias.copy_(model.residuals[0].bias)
        layer.lin_r.weight.copy_(model.residuals[0].weight.T)
    expected = model.classifier(layer(x, graph.edge_index).relu())
    torch.testing.assert_close(model(x, graph), expected)


def test_a_block_of_gat_equals_pygs_layer_with_its_self_loops():
    graph, model = random_graph(0), build("gat", num_layers=1, residual=False)
    x = features(graph)
    layer = pyg.GATConv(6, 4, heads=2).double()
    with torch.no_grad():
        layer.bias.copy_(model.transforms[0].bias.uniform_())
        layer.lin.weight.copy_(model.transforms[0].weight.T)
        layer.att_src.copy_(model.layers[0].att_src)
        layer.att_dst.copy_(model.layers[0].att_dst)
    expected = model.classifier(layer(x, graph.edge_index).relu())
    torch.testing.assert_close(model(x, graph), expected)


def test_the_mean_of_graphsage_takes_weights_and_directions():
    graph = random_graph(5, weighted=True, directed=True)
    model, x = build("graphsage"), features(graph)
    expected = by_the_formula("graphsage", model, graph, x)[-1]
    torch.testing.assert_close(model(x, graph), model.classifier(expected))


@EVERY
@pytest.mark.parametrize("input_transform", [True, False])
def test_sparse_features_give_what_dense_ones_give(name, input_transform):
    graph = random_graph(40)
    x = torch.randn(graph.num_nodes, 6) * (torch.rand(graph.num_nodes, 6) < 0.05)
    few = sparse_if_sparse(x)
    assert not isinstance(few, torch.Tensor)
    model = build(name, input_transform=input_transform, norm="layer", input_dropout=0.3).float()
    torch.testing.assert_close(model(few, graph), model(x, graph))
    torch.testing.assert_close(model(few, graph, Noise(1)), model(x, graph, Noise(1)))


@EVERY
def test_masks_are_those_of_the_seed_and_step(name):
    graph = random_graph(30)
    x = features(graph)
    rates = {"input_dropout": 0.3, "dropout": 0.5, "input_transform": True, "norm": "layer"}
    model = build(name, **rates).train()
    first, again, other = (model(x, graph, Noise(1, step)) for step in (4, 4, 5))
    assert torch.equal(first, again)
    assert not torch.allclose(first, other)


@EVERY
@pytest.mark.parametrize("norm", NORMS)
def test_every_parameter_gets_a_gradient(name, norm):
    graph = random_graph(30)
    model = build(name, norm=norm, input_transform=True).train()
    model(features(graph), graph, Noise(0, 0)).square().sum().backward()
    assert not [key for key, each in model.named_parameters() if each.grad is None]


@EVERY
def test_one_node_no_edges_and_features_that_are_all_0(name):
    nothing = torch.empty(2, 0, dtype=torch.int64)
    for nodes in (1, 5):
        graph = Graph.from_edge_index(nothing, num_nodes=nodes)
        x = torch.zeros(nodes, 6, dtype=torch.float64)
        for norm in ("none", "layer"):
            for given in (x, sparse(x)):
                assert build(name, norm=norm).train()(given, graph, Noise(0)).isfinite().all()
    alone = Graph.from_edge_index(nothing, num_nodes=1)
    model = build(name, norm="batch")
    assert model(x[:1], alone).isfinite().all()
    with pytest.raises(DataError, match="at least two nodes"):
        model.train()(x[:1], alone, Noise(0))


def test_a_directed_graph_is_refused_by_gcn():
    graph = random_graph(5, directed=True)
    with pytest.raises(GraphError, match="needs an undirected graph"):
        build("gcn")(features(graph), graph)


@EVERY
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_layers": 0}, "num_layers must be from 1 to 1000, got 0"),
        ({"norm": "bach"}, "norm must be one of none, layer, batch, length"),
        ({"input_dropout": 1.0}, "input_dropout must be at least 0 and below 1"),
        ({"readout": "lst"}, "Did you mean 'last'"),
    ],
)
def test_impossible_settings_are_refused(name, options, message):
    with pytest.raises((SettingsError, UnknownNameError), match=message):
        CLASSES[name](6, 4, 3, **options)


@pytest.mark.parametrize("heads", [0, -1])
def test_heads_are_at_least_one(heads):
    with pytest.raises(SettingsError, match="heads must be from 1"):
        BlockGAT(6, 4, 3, heads=heads)


@EVERY
@pytest.mark.parametrize(
    "options",
    [{"norm": "batch"}, {"residual": False}, {"input_transform": True}, {"readout": "sum"}],
)
def test_what_blocks_alone_have_needs_that_form(name, options):
    settings = find_model(name).settings
    with pytest.raises(SettingsError, match="needs form='blocks'"):
        settings(**options)
    assert settings(form="blocks", **options).form == "blocks"


@pytest.mark.parametrize("name", ["graphsage", "gat"])
def test_two_layers_are_what_was_published(name):
    with pytest.raises(SettingsError, match="num_layers=3 needs form='blocks'"):
        find_model(name).settings(num_layers=3)


@pytest.mark.parametrize(
    ("name", "published"), [("gcn", GCN), ("graphsage", GraphSAGE), ("gat", GAT)]
)
def test_the_form_chooses_the_class(name, published):
    settings = find_model(name).settings
    assert type(build_model(name, settings(), 6, 3)) is published
    model = build_model(name, settings(form="blocks", norm="batch"), 6, 3)
    assert type(model) is CLASSES[name]
    assert model.settings == settings(form="blocks", norm="batch")


@pytest.mark.parametrize("name", ["fastgcn", "pgso", "vbat"])
def test_models_that_share_gcns_settings_have_no_form(name):
    assert find_model(name).settings.names() == ["hidden_channels", "num_layers", "dropout", "bias"]


@pytest.mark.gpu
@EVERY
@pytest.mark.parametrize("norm", NORMS)
def test_gpu_gives_what_the_cpu_gives(name, norm):
    graph = random_graph(11)
    x = torch.rand(graph.num_nodes, 6)
    model = CLASSES[name](6, 16, 3, num_layers=3, norm=norm)
    here = model.eval()(x, graph)
    there = model.cuda()(x.cuda(), graph.to("cuda"))
    torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-4)


@EVERY
def test_residuals_and_classifier_start_as_in_the_public_code(name):
    model = build(name)
    assert {each.initialisation for each in model.transforms} == {"glorot_normal"}
    assert {each.initialisation for each in [*model.residuals, model.classifier]} == {"uniform"}
