import itertools

import pytest
import torch

from akgnn.errors import GraphError, SettingsError
from akgnn.ops.adaptive import adaptive_propagate_reference
from akgnn.ops.adaptive_chain import adaptive_chain
from akgnn.ops.dropout import dropout
from oracles import random_graph

LAYERS, RATE, KEYS = 5, 0.4, [11, -7, 2**61, 5, 0]
READOUTS = ["sum", "mean", "last"]


def spelled_out(graph, h, weights, *, readout="sum", rate=0.0, keys=None, normalisation="sym"):
    """The specification: the formula step by step, left to autograd."""
    outputs = []
    for k, (a, w) in enumerate(weights):
        h = adaptive_propagate_reference(graph, h, a, w, normalisation=normalisation)
        if keys is not None:
            h = dropout(h, rate, keys[k])
        outputs.append(h)
    total = sum(outputs)
    return {"sum": total, "mean": total / len(outputs), "last": outputs[-1]}[readout]


def with_gradients(function, graph, h, a, w, grad, **options):
    inputs = [tensor.detach().clone().requires_grad_() for tensor in (h, a, w)]
    pairs = list(zip(inputs[1], inputs[2], strict=True))
    out = function(graph, inputs[0], pairs, **options)
    return [out, *torch.autograd.grad(out, inputs, grad)]


def inputs_for(graph, groups=1, channels=8):
    torch.manual_seed(0)
    h = torch.randn(graph.num_nodes, channels, dtype=torch.float64)
    a = torch.rand(LAYERS, groups, dtype=torch.float64)
    w = torch.randn(LAYERS, groups, dtype=torch.float64)
    return h, a, w, torch.randn_like(h)


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize(("form", "readout"), list(itertools.product(["sym", "row"], READOUTS)))
def test_a_chain_is_its_steps(form, readout, drops, recompute):
    graph = random_graph(0, weighted=True, directed=form == "row")
    options = {"readout": readout, "normalisation": form}
    options |= {"rate": RATE, "keys": KEYS} if drops else {}
    values = inputs_for(graph)
    found = with_gradients(adaptive_chain, graph, *values, recompute=recompute, **options)
    expected = with_gradients(spelled_out, graph, *values, **options)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_groups_have_scalars_of_their_own():
    graph = random_graph(1)
    h, a, w, grad = inputs_for(graph, groups=2)
    found = with_gradients(adaptive_chain, graph, h, a, w, grad)
    spread = [x.repeat_interleave(4, 1) for x in (a, w)]
    expected = with_gradients(spelled_out, graph, h, *spread, grad)
    torch.testing.assert_close(found[:2], expected[:2])
    for one, other in zip(found[2:], expected[2:], strict=True):
        torch.testing.assert_close(one, other.view(LAYERS, 2, 4).sum(-1))


def test_recomputing_keeps_fewer_signals():
    """Of nine layers, three results stay for the backward pass instead of nine."""
    graph = random_graph(2)
    h = torch.randn(graph.num_nodes, 64, requires_grad=True)
    weights = [(torch.ones(1, requires_grad=True), 1.0) for _ in range(9)]
    kept = []

    def count(tensor):
        if tensor.shape == h.shape:
            kept.append(tensor.data_ptr())
        return tensor

    numbers = []
    for recompute in (False, True):
        kept.clear()
        with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
            adaptive_chain(graph, h, weights, recompute=recompute)
        numbers.append(len(set(kept)))
    assert numbers[0] >= 9
    assert numbers[1] <= 4


def test_wrong_input_is_refused():
    graph = random_graph(3)
    h = torch.zeros(graph.num_nodes, 2)
    with pytest.raises(SettingsError, match="rate must be at least 0 and below 1, got 1"):
        adaptive_chain(graph, h, [(1.0, 1.0)], rate=1)
    with pytest.raises(SettingsError, match="self_weight must not be negative"):
        adaptive_chain(graph, h, [(1.0, 1.0), (-1.0, 1.0)])
    with pytest.raises(GraphError, match="Node signals must have shape"):
        adaptive_chain(graph, h[1:], [(1.0, 1.0)])
