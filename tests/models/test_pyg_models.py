import sys
from copy import deepcopy

import pytest
import torch
import torch.nn.functional as F

from akgnn.csr import CSR, Pattern
from akgnn.errors import MissingExtraError
from akgnn.models.pyg_models import (
    GAT,
    GraphSAGE,
    global_noise,
    global_seed,
    mapped,
    pyg_layer,
    take_out,
)
from akgnn.ops.dropout import Noise
from oracles import dense, random_graph


def attention(layer, linear, x, adjacency, concat):
    """Softmax over neighbours and self of LeakyReLU(a_s · W h_u + a_t · W h_v), densely."""
    heads, width = layer.att_src.shape[1:]
    h = (x @ linear.weight.T).view(len(x), heads, width)
    outputs = []
    linked = (adjacency + torch.eye(len(x))) > 0
    for k in range(heads):
        source, target = h[:, k] @ layer.att_src[0, k], h[:, k] @ layer.att_dst[0, k]
        score = F.leaky_relu(target[:, None] + source[None, :], 0.2)
        weight = torch.softmax(score.masked_fill(~linked, -torch.inf), dim=1)
        outputs.append(weight @ h[:, k])
    out = torch.cat(outputs, 1) if concat else torch.stack(outputs).mean(0)
    return out + layer.bias


def test_gat_equals_the_dense_formula():
    graph = random_graph(0)
    model = GAT(6, 4, 3, heads=2, output_heads=2).double().eval()
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    hidden = F.elu(attention(model.first_layer, model.transform, x, dense(graph), concat=True))
    expected = attention(
        model.second_layer, model.second_layer.lin, hidden, dense(graph), concat=False
    )
    torch.testing.assert_close(model(x, graph), expected)


def test_attention_is_dropped_by_noise_alone():
    graph = random_graph(1)
    model = GAT(6, 4, 3, dropout=0.0)
    x = torch.randn(graph.num_nodes, 6)
    torch.manual_seed(1)
    out = model(x, graph, Noise(0, 0))
    torch.manual_seed(2)
    assert torch.equal(out, model(x, graph, Noise(0, 0)))
    assert not torch.equal(out, model(x, graph, Noise(0, 1)))


def mean_layer(neighbours, itself, x, adjacency):
    mean = adjacency @ x / adjacency.sum(1, keepdim=True).clamp_min(1)
    return mean @ neighbours.weight.T + neighbours.bias + x @ itself.weight.T


def test_graphsage_equals_the_dense_formula():
    graph = random_graph(0)
    model = GraphSAGE(6, 5, 3).double().eval()
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    hidden = torch.relu(mean_layer(model.neighbours, model.itself, x, dense(graph)))
    torch.testing.assert_close(
        model(x, graph),
        mean_layer(model.second_layer.lin_l, model.second_layer.lin_r, hidden, dense(graph)),
    )


def test_training_draws_neighbours_anew():
    graph = random_graph(1, num_edges=60)
    model = GraphSAGE(6, 5, 3, dropout=0.0, first_fan_out=1, second_fan_out=1)
    x = torch.randn(graph.num_nodes, 6)
    out = model(x, graph, Noise(0, 0))
    assert torch.equal(out, model(x, graph, Noise(0, 0)))
    assert not torch.equal(out, model(x, graph, Noise(0, 1)))


def test_wide_fan_outs_take_all_neighbours():
    graph = random_graph(2)
    model = GraphSAGE(6, 5, 3, dropout=0.0)
    x = torch.randn(graph.num_nodes, 6)
    torch.testing.assert_close(model(x, graph, Noise(0)), model.eval()(x, graph))


def test_the_generator_decides_the_initial_weights():
    def weight(seed):
        generator = torch.Generator().manual_seed(seed)
        return pyg_layer("SAGEConv", 3, 4, generator=generator).lin_l.weight

    assert torch.equal(weight(1), weight(1))
    assert not torch.equal(weight(1), weight(2))


def test_the_global_generator_is_left_as_it_was():
    before = torch.get_rng_state()
    pyg_layer("SAGEConv", 3, 4, generator=torch.Generator())
    with global_seed(3):
        torch.rand(5)
    with global_noise(Noise(0), 1):
        torch.rand(5)
    assert torch.equal(torch.get_rng_state(), before)


def test_noise_decides_what_is_drawn_inside():
    def draw(noise, key):
        with global_noise(noise, key):
            return torch.rand(4)

    assert torch.equal(draw(Noise(1, 2), 3), draw(Noise(1, 2), 3))
    assert not torch.equal(draw(Noise(1, 2), 3), draw(Noise(1, 3), 3))
    assert not torch.equal(draw(Noise(1, 2), 3), draw(Noise(1, 2), 4))


def test_without_pyg_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    with pytest.raises(MissingExtraError, match=r"GATConv needs .*akgnn\[pyg\]"):
        pyg_layer("GATConv", 3, 4, generator=None)


@pytest.mark.parametrize(("name", "options"), [("GATConv", {"heads": 2}), ("SAGEConv", {})])
def test_a_map_taken_out_leaves_the_layers_result(name, options):
    x = torch.tensor([[0.0, 0, 1], [2, 0, 0], [0, 3, 4], [0, 0, 0]])
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    layer = pyg_layer(name, 3, 4, generator=torch.Generator().manual_seed(0), **options).eval()
    expected = layer(x, edge_index)
    pattern = Pattern(torch.tensor([0, 1, 2, 4, 4]), torch.tensor([2, 0, 1, 2]), (4, 3))
    sparse = CSR(pattern, torch.tensor([1.0, 2, 3, 4]))
    for features in (x, sparse):
        whole = deepcopy(layer)
        if name == "GATConv":
            out = whole(mapped(features, take_out(whole, "lin")), edge_index)
        else:
            near, own = take_out(whole, "lin_l"), take_out(whole, "lin_r")
            out = whole((mapped(features, near), mapped(features, own)), edge_index) + near.bias
        torch.testing.assert_close(out, expected)
