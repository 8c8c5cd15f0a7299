import pytest
import torch

from akgnn.bench import peers
from akgnn.bench.graphs import GRAPHS
from akgnn.bench.peers import LAYERS, Inputs, bytes_needed, layer_names
from akgnn.ops.adaptive import adaptive_propagate_reference

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def value_and_gradients(layer, h, r, grad):
    h, r = h.clone().requires_grad_(), r.clone().requires_grad_()
    out = layer(h, r)
    return [out.detach(), *torch.autograd.grad(out, (h, r), grad)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_is_the_specification_in_value_and_gradient(device, kind, name):
    graph = GRAPHS[kind](60, 4, torch.Generator(device).manual_seed(0))
    h, grad = (torch.randn(60, 5, device=device) for _ in range(2))
    r = torch.tensor(0.7, device=device)
    built = LAYERS[name](Inputs(graph, h.dtype))
    found = value_and_gradients(built, h, r, grad)
    wanted = value_and_gradients(
        lambda h, r: adaptive_propagate_reference(graph, h, r),
        h.double(),
        r.double(),
        grad.double(),
    )
    for value, expected in zip(found, wanted, strict=True):
        torch.testing.assert_close(value.double(), expected, rtol=1e-4, atol=1e-4)
    # A second time, with what it keeps.
    again = value_and_gradients(built, h, r, grad)
    for value, before in zip(again, found, strict=True):
        torch.testing.assert_close(value, before)


def test_without_pyg_its_layers_are_left_out(monkeypatch):
    assert layer_names() == list(LAYERS)
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    assert layer_names() == ["akgnn", "torch CSR", "torch COO"]


def test_the_messages_of_scatter_count():
    graph = GRAPHS["even"](100, 20, torch.Generator().manual_seed(0))
    inputs = Inputs(graph, torch.float32)
    ours, scatter = (bytes_needed(name, inputs, 64) for name in ("akgnn", "PyG scatter"))
    assert scatter - ours > 2 * graph.num_edges * 64 * 4


def test_large_indices_are_shared():
    graph = GRAPHS["even"](100, 4, torch.Generator().manual_seed(0))
    inputs = Inputs(graph, torch.float32)
    assert inputs.rows_and_columns is inputs.rows_and_columns
    assert torch.equal(inputs.rows_and_columns[0], graph.adjacency.pattern.row)
