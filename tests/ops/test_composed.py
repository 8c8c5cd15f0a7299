"""What the composed step keeps and makes, and replicas; test_adaptive.py has the formula."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from akgnn.graph import Graph
from akgnn.ops import composed
from akgnn.ops.adaptive import adaptive_propagate, adaptive_propagate_reference
from oracles import FORMS, KINDS, random_graph, with_gradients

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def test_a_fixed_kernel_keeps_no_activations():
    graph = random_graph(7)
    h = torch.randn(graph.num_nodes, 3, requires_grad=True)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        adaptive_propagate(graph, h, 1.0)
    assert not kept


class LargestTensor(TorchDispatchMode):
    """Remembers the size of the largest tensor that any operation made."""

    size = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        out = function(*arguments, **(options or {}))
        for tensor in out if isinstance(out, tuple | list) else [out]:
            # A sparse tensor counts the zeros it does not store.
            if isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided:
                self.size = max(self.size, tensor.numel())
        return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(), (8,)])
def test_no_tensor_is_larger_than_the_signal_or_the_edges(dtype, form, shape):
    graph = random_graph(10, num_nodes=2000, num_edges=3000)
    h = torch.randn(2000, 8, dtype=dtype, requires_grad=True)
    a = torch.ones(shape, dtype=dtype, requires_grad=True)
    with LargestTensor() as largest:
        adaptive_propagate(graph, h, a, normalisation=form).sum().backward()
    assert h.numel() <= largest.size <= max(h.numel(), graph.num_edges)


@pytest.mark.parametrize("form", FORMS)
def test_large_signals_have_the_same_gradients(form):
    graph = random_graph(11, num_nodes=5000, num_edges=20_000)
    h = torch.randn(5000, 64)
    assert h.numel() > 2**18
    a, w, grad = torch.tensor(0.7), torch.tensor(1.3), torch.randn(5000, 64)
    found = with_gradients(adaptive_propagate, graph, h, a, w, form, grad)
    wide = [x.double() for x in (h, a, w)]
    expected = with_gradients(adaptive_propagate_reference, graph, *wide, form, grad.double())
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-3)


def few_degrees(kind):
    """Graphs in which degrees are few, some of which are awkward."""
    pairs = {
        "one node": (1, []),
        "no edges": (6, []),
        "a ring, a star and an isolated node": (
            9,
            [(0, 1), (1, 2), (2, 0), (3, 4), (3, 5), (3, 6), (3, 7)],
        ),
    }
    number, edges = pairs[kind]
    one = torch.tensor(edges, dtype=torch.long).view(-1, 2).T
    return Graph.from_edge_index(torch.cat([one, one.flip(0)], 1), num_nodes=number)


AWKWARD = ["one node", "no edges", "a ring, a star and an isolated node"]


@pytest.mark.parametrize("kind", AWKWARD)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("a", [0.0, 0.7])
@pytest.mark.parametrize("w", [1.0, -0.3, "one", "of groups"])
def test_scalings_made_once_a_degree_equal_the_formula(monkeypatch, kind, form, a, w):
    channels, graph = 6, few_degrees(kind)
    monkeypatch.setattr(composed, "_NODES_OF_DEGREE", 1)
    h = torch.randn(graph.num_nodes, channels, dtype=torch.float64)
    grad = torch.randn(graph.num_nodes, channels, dtype=torch.float64)
    own = torch.tensor([a, a + 0.5, a + 2], dtype=torch.float64)
    weights = {"one": torch.tensor([1.3]), "of groups": torch.tensor([0.4, -1.1, 0.0])}
    w = weights[w].double() if isinstance(w, str) else w

    found = _results(adaptive_propagate, graph, h, own, w, form, grad)
    by_channel = [x.repeat_interleave(2) if _is_grouped(x) else x for x in (own, w)]
    expected = _results(adaptive_propagate_reference, graph, h, *by_channel, form, grad)
    for one, other in zip(found, expected, strict=True):
        together = other.view(3, 2).sum(1) if one.shape != other.shape else other
        torch.testing.assert_close(one, together)


def _is_grouped(weight):
    return isinstance(weight, torch.Tensor) and weight.numel() > 1


def _results(propagate, graph, h, a, w, form, grad):
    """The step, and the gradients of all that learn where they are defined."""
    h, a, w = (x.clone().requires_grad_() if isinstance(x, torch.Tensor) else x for x in (h, a, w))
    out = propagate(graph, h, a, w, normalisation=form)
    learned = [x for x in (h, a, w) if isinstance(x, torch.Tensor)]
    return [out.detach(), *torch.autograd.grad(out, learned, grad)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("w", [1.0, torch.tensor([0.4, -1.1], dtype=torch.float64)])
def test_gradcheck_where_scalings_are_made_once_a_degree(monkeypatch, form, w):
    monkeypatch.setattr(composed, "_NODES_OF_DEGREE", 1)
    graph = few_degrees("a ring, a star and an isolated node")
    h = torch.randn(graph.num_nodes, 4, dtype=torch.float64, requires_grad=True)
    a = torch.tensor([0.7, 2.0], dtype=torch.float64, requires_grad=True)
    learned = [w.clone().requires_grad_()] if isinstance(w, torch.Tensor) else []

    def step(h, a, *weights):
        return adaptive_propagate(graph, h, a, *(weights or (w,)), normalisation=form)

    assert torch.autograd.gradcheck(step, (h, a, *learned))


@pytest.mark.parametrize("form", FORMS)
def test_replicas_have_their_own_scalings_where_they_are_made_once_a_degree(monkeypatch, form):
    monkeypatch.setattr(composed, "_NODES_OF_DEGREE", 1)
    graph = few_degrees("a ring, a star and an isolated node")
    h, grad = torch.randn(2, 3, graph.num_nodes, 6, dtype=torch.float64)
    a = torch.tensor([[0.1, 0.7, 2.0], [1.0, 0.5, 3.0], [0.2, 0.4, 0.0]], dtype=torch.float64)
    together = _results(adaptive_propagate, graph, h, a, 1.0, form, grad)
    for replica in range(3):
        alone = _results(
            adaptive_propagate, graph, h[replica], a[replica], 1.0, form, grad[replica]
        )
        for one, all_ in zip(alone, together, strict=True):
            torch.testing.assert_close(one, all_[replica])


def test_scalings_are_made_once_a_degree_where_degrees_are_few():
    nodes = 4000
    ring = torch.arange(nodes)
    edges = torch.stack([ring, ring.roll(1)])
    graph = Graph.from_edge_index(torch.cat([edges, edges.flip(0)], 1), num_nodes=nodes)
    assert composed._degree_of_node(graph).tolist() == [0] * nodes
    # All degrees differ, so there is nothing to share.
    weight = torch.rand(nodes).repeat(2)
    uneven = Graph.from_edge_index(
        torch.cat([edges, edges.flip(0)], 1), num_nodes=nodes, edge_weight=weight
    )
    assert composed._degree_of_node(uneven) is None


@pytest.mark.parametrize("groups", [2, 8, 32, 64])
def test_gradients_of_groups_equal_those_of_the_formula(groups):
    graph = random_graph(12, num_nodes=60, num_edges=200)
    h, grad = torch.randn(60, 64), torch.randn(60, 64)
    a = torch.rand(groups) + 0.5
    found = _results(adaptive_propagate, graph, h, a, 1.0, "sym", grad)
    wide = [x.double() for x in (h, a.repeat_interleave(64 // groups))]
    expected = _results(adaptive_propagate_reference, graph, *wide, 1.0, "sym", grad.double())
    expected[2] = expected[2].view(groups, -1).sum(1)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-4)


def test_a_weight_changed_after_the_step_does_not_change_its_gradient():
    graph = random_graph(13)
    h = torch.randn(graph.num_nodes, 2, requires_grad=True)
    w = torch.tensor(0.5)
    expected = torch.autograd.grad(adaptive_propagate(graph, h, 1.0, w).sum(), h)[0]
    out = adaptive_propagate(graph, h, 1.0, w)
    w.fill_(5.0)
    torch.testing.assert_close(torch.autograd.grad(out.sum(), h)[0], expected)


def test_a_second_derivative_is_refused_not_wrong():
    graph = random_graph(15)
    h = torch.randn(graph.num_nodes, 2, dtype=torch.float64, requires_grad=True)
    a = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    out = adaptive_propagate(graph, h, a).square().sum()
    (grad,) = torch.autograd.grad(out, a, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        grad.backward()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("weighted", "directed", "form"), KINDS)
@pytest.mark.parametrize("sizes", [(0, 0), (1, 1), (1, 0), (3, 1), (1, 3), (3, 3)])
def test_a_replica_is_propagated_as_if_alone(weighted, directed, form, sizes, device):
    """Weights of size 0 are one number for all, of 1 one each, of 3 one for each channel too."""
    graph = random_graph(0, weighted=weighted, directed=directed).to(device)
    draw = torch.Generator().manual_seed(0)
    h, grad = torch.randn(2, 4, 12, 3, generator=draw, dtype=torch.float64).to(device)

    def weight(size):
        drawn = torch.rand(4, max(size, 1), generator=draw, dtype=torch.float64)
        return (drawn if size else drawn[0, 0]).to(device)

    a, w = weight(sizes[0]), weight(sizes[1]) - 0.5
    out, *grads = with_gradients(adaptive_propagate, graph, h, a, w, form, grad)
    shared = [torch.zeros_like(a), torch.zeros_like(w)]
    for number in range(4):
        own = [x if x.dim() == 0 else x[number] for x in (a, w)]
        alone = with_gradients(
            adaptive_propagate, graph, h[number], *own, form, grad[number].contiguous()
        )
        torch.testing.assert_close(out[number], alone[0])
        torch.testing.assert_close(grads[0][number], alone[1])
        for place, (x, found) in enumerate(zip(shared, alone[2:], strict=True)):
            if x.dim():
                torch.testing.assert_close(grads[1 + place][number], found)
            else:
                x += found
    for x, found in zip(shared, grads[1:], strict=True):
        if x.dim() == 0:
            torch.testing.assert_close(found, x)


def test_both_ways_of_replicas_are_those_of_each():
    graph = random_graph(1, directed=True)
    h = torch.randn(3, 12, 4, dtype=torch.float64)
    weights = [torch.rand(3, 1, dtype=torch.float64) for _ in range(3)]
    out = adaptive_propagate(graph, h, *weights, normalisation="row")
    for number in range(3):
        own = [weight[number] for weight in weights]
        alone = adaptive_propagate(graph, h[number], *own, normalisation="row")
        torch.testing.assert_close(out[number], alone)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("own", "neighbours"), [(4, 1), (1, 3), (4, 6), (6, 4), (12, 2), (3, 3)])
def test_groups_of_each_weight_may_differ(form, own, neighbours):
    generator = torch.Generator().manual_seed(12)
    graph = random_graph(12)
    shape = (graph.num_nodes, 12)
    h, grad = (torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2))
    a = torch.rand(own, generator=generator, dtype=torch.float64)
    w = torch.randn(neighbours, generator=generator, dtype=torch.float64)

    def by_channel(graph, h, a, w, *, normalisation):
        rows = (x.repeat_interleave(12 // len(x)) for x in (a, w))
        return adaptive_propagate_reference(graph, h, *rows, normalisation=normalisation)

    found = with_gradients(adaptive_propagate, graph, h, a, w, form, grad)
    expected = with_gradients(by_channel, graph, h, a, w, form, grad)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("groups", [1, 4])
def test_a_transposed_signal_is_propagated_as_any_other(form, groups):
    graph = random_graph(14, num_nodes=40, num_edges=90)
    h, grad = torch.randn(8, 40).T, torch.randn(8, 40).T
    a = torch.rand(groups) + 0.5
    found = _results(adaptive_propagate, graph, h, a, 1.0, form, grad)
    expected = _results(adaptive_propagate, graph, h.contiguous(), a, 1.0, form, grad.contiguous())
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
