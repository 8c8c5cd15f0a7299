import pytest
import torch

from akgnn.errors import SettingsError
from akgnn.models.dropedge import DropEdgeNet, DropEdgeNetSettings
from akgnn.models.gcn import GCN
from akgnn.models.registry import build_model
from akgnn.ops.dropout import Noise
from oracles import dense, random_graph


def build(**options):
    generator = torch.Generator().manual_seed(0)
    return DropEdgeNet(6, 4, 3, generator=generator, **options).double().eval()


def propagation(graph, normalisation):
    """With self-loops, by the degrees of both ends or by those of the row."""
    looped = dense(graph).double() + torch.eye(graph.num_nodes, dtype=torch.float64)
    degree = looped.sum(1)
    if normalisation == "row":
        return looped / degree[:, None]
    return looped / (degree[:, None] * degree[None, :]).sqrt()


@pytest.mark.parametrize("normalisation", ["sym", "row"])
@pytest.mark.parametrize("self_map", [True, False])
@pytest.mark.parametrize("readout", ["last", "concat"])
@pytest.mark.parametrize("num_layers", [1, 2, 4])
def test_it_is_the_formula(normalisation, self_map, readout, num_layers):
    graph = random_graph(3)
    options = {"normalisation": normalisation, "self_map": self_map, "readout": readout}
    model = build(num_layers=num_layers, **options)
    p = propagation(graph, normalisation)

    def layer(k, h):
        out = p @ h @ model.layers[k].weight + model.layers[k].bias
        return out + h @ model.self_maps[k].weight if self_map else out

    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    hidden = [x]
    for k in range(num_layers - 1):
        hidden.append(layer(k, hidden[-1]).relu())
    seen = torch.cat(hidden[1:], 1) if readout == "concat" and num_layers > 1 else hidden[-1]
    torch.testing.assert_close(model(x, graph), layer(num_layers - 1, seen))


def test_features_are_not_dropped_and_hidden_signals_are():
    graph, x = random_graph(4), torch.randn(random_graph(4).num_nodes, 6)
    model = DropEdgeNet(6, 4, 3, num_layers=1, dropout=0.9)
    torch.testing.assert_close(model.train()(x, graph, Noise(0)), model.eval()(x, graph))
    model = DropEdgeNet(6, 4, 3, num_layers=2, dropout=0.9)
    assert not torch.equal(model.train()(x, graph, Noise(0)), model.eval()(x, graph))


def test_weights_start_evenly_by_the_width_of_the_output():
    model = DropEdgeNet(5, 400, 3, self_map=True)
    for weight in (model.layers[0].weight, model.layers[0].bias, model.self_maps[0].weight):
        assert 0.045 < weight.abs().max() <= 0.05
    assert model.self_maps[0].bias is None


def test_the_plain_form_is_a_gcn():
    assert isinstance(build_model("dropedge", DropEdgeNetSettings(), 6, 3), GCN)


@pytest.mark.parametrize(
    "options", [{"self_map": True}, {"normalisation": "row"}, {"readout": "concat"}]
)
def test_what_the_plain_form_has_not_is_refused(options):
    with pytest.raises(SettingsError, match="needs form='public-code'"):
        DropEdgeNetSettings(**options)
