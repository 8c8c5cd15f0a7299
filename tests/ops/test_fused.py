"""The Triton ops against the specification: on a GPU, or elsewhere in Triton's interpreter."""

import itertools

import pytest
import torch
from torch.utils.checkpoint import checkpoint

pytest.importorskip("triton")

from akgnn import csr
from akgnn.graph import Graph
from akgnn.ops.adaptive import adaptive_propagate, adaptive_propagate_reference
from akgnn.ops.dropout import dropout
from akgnn.ops.fused import _scalar_block, fused_chain
from akgnn.ops.rows import at_channels
from oracles import random_graph

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FORMS, READOUTS = ["sym", "row"], ["sum", "mean", "last"]
REPLICAS, LAYERS, RATE = 2, 4, 0.4
KEYS = [[3, -5], [2**62, 7], [0, 1], [-(2**63), 9]]


@pytest.fixture(autouse=True)
def _short_rows(monkeypatch):
    """Rows of more than three entries count as long."""
    monkeypatch.setattr(csr, "LONGEST_ROW", 3)
    monkeypatch.setattr(csr, "_SEGMENT", 2)


def spelled_out(graph, h, a, w, form, *, readout="sum", drops=False):
    """Replica by replica and step by step, with one scalar a group, left to autograd."""
    width = h.size(2) // a.size(2)
    results = []
    for r, signal in enumerate(h):
        outputs = []
        for k in range(len(a)):
            weights = [x[k, r].repeat_interleave(width) for x in (a, w)]
            signal = adaptive_propagate_reference(graph, signal, *weights, normalisation=form)
            signal = dropout(signal, RATE, KEYS[k][r]) if drops else signal
            outputs.append(signal)
        total = sum(outputs)
        results.append({"sum": total, "mean": total / len(a), "last": outputs[-1]}[readout])
    return torch.stack(results)


def inputs_for(graph, *, channels=6, groups=1, layers=LAYERS, seed=0):
    torch.manual_seed(seed)
    h = torch.randn(REPLICAS, graph.num_nodes, channels, dtype=torch.float64)
    a = torch.rand(layers, REPLICAS, groups, dtype=torch.float64)
    w = torch.randn(layers, REPLICAS, groups, dtype=torch.float64)
    return h, a, w


def chain(graph, h, a, w, form, **options):
    """The fused chain of scalars of shape (layers, replicas, groups)."""
    weights = list(zip(a, w, strict=True))
    return fused_chain(graph, h, weights, a.size(2), form, **options)


def gradients(function, inputs, grad):
    inputs = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    out = function(*inputs)
    return [out, *torch.autograd.grad(out, inputs, grad)]


def compare(
    graph,
    inputs,
    form,
    *,
    dtype=torch.float32,
    tolerance=2e-5,
    readout="sum",
    drops=False,
    recompute=False,
):
    keys = [torch.tensor(key, device=DEVICE) for key in KEYS] if drops else None
    options = {"readout": readout, "rate": RATE, "keys": keys, "recompute": recompute}
    moved = graph.to(DEVICE)
    h, a, w = inputs
    h = h.to(dtype).double()
    grad = torch.randn(h.shape, dtype=torch.float64).to(dtype)
    expected = gradients(
        lambda h, a, w: spelled_out(graph, h, a, w, form, readout=readout, drops=drops),
        (h, a, w),
        grad.double(),
    )
    found = gradients(
        lambda h, a, w: chain(moved, h, a, w, form, **options),
        (h.to(DEVICE, dtype), a.to(DEVICE).float(), w.to(DEVICE).float()),
        grad.to(DEVICE),
    )
    for one, other in zip(found, expected, strict=True):
        scale = max(other.abs().max().item(), 1.0)
        torch.testing.assert_close(one.cpu().double(), other, rtol=0, atol=tolerance * scale)


# Any three of these four together; the interpreter is too slow for all of them.
CHAINS = [
    (form, readout, drops, (FORMS.index(form) + READOUTS.index(readout) + drops) % 2 == 1)
    for form, readout, drops in itertools.product(FORMS, READOUTS, [False, True])
]


@pytest.mark.parametrize(("form", "readout", "drops", "recompute"), CHAINS)
def test_a_chain_follows_the_specification(form, readout, drops, recompute):
    is_directed = form == "row"
    graph = random_graph(0, num_edges=24 if is_directed else 20, directed=is_directed)
    for adjacency in (graph.adjacency, graph.transpose.adjacency):
        assert adjacency.pattern.segments is not None
    compare(graph, inputs_for(graph), form, readout=readout, drops=drops, recompute=recompute)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_weighted_edges_and_groups(form, groups):
    graph = random_graph(1, weighted=True, directed=form == "row")
    compare(graph, inputs_for(graph, groups=groups, layers=2), form, drops=True)


@pytest.mark.parametrize("channels", [1, 3, 7, 16, 33, 64, 130])
def test_any_number_of_channels(channels):
    graph = random_graph(2, num_nodes=7, num_edges=12)
    compare(graph, inputs_for(graph, channels=channels, layers=2), "sym", drops=True)


def test_a_slice_of_the_channels_drops_what_all_of_them_drop():
    graph = random_graph(2, num_nodes=7, num_edges=12).to(DEVICE)
    inputs = [x.float().to(DEVICE) for x in inputs_for(graph, channels=10, layers=2)]
    grad = torch.randn_like(inputs[0])
    options = {"rate": RATE, "keys": [torch.tensor(key, device=DEVICE) for key in KEYS[:2]]}
    whole = gradients(lambda h, a, w: chain(graph, h, a, w, "sym", **options), inputs, grad)
    sums = [torch.zeros_like(x) for x in inputs[1:]]
    for part in (slice(0, 4), slice(4, 8), slice(8, 10)):
        with at_channels(part.start, 10):
            out, grad_h, *of_scalars = gradients(
                lambda h, a, w: chain(graph, h, a, w, "sym", **options),
                [inputs[0][..., part], *inputs[1:]],
                grad[..., part],
            )
        torch.testing.assert_close(out, whole[0][..., part])
        torch.testing.assert_close(grad_h, whole[1][..., part])
        sums = [total + more for total, more in zip(sums, of_scalars, strict=True)]
    for total, expected in zip(sums, whole[2:], strict=True):
        torch.testing.assert_close(total, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_bfloat16_is_stored_and_float32_added(form):
    graph = random_graph(3, directed=form == "row")
    inputs = inputs_for(graph, channels=16)
    compare(graph, inputs, form, dtype=torch.bfloat16, tolerance=3e-2, drops=True)


@pytest.mark.parametrize(
    "graph",
    [
        Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.long), num_nodes=1),
        Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.long), num_nodes=5),
        Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]), num_nodes=4),
        # A star: one huge row, whose entries fill several segments.
        Graph.from_edge_index(
            torch.stack(
                [
                    torch.tensor([0] * 40 + list(range(1, 41))),
                    torch.tensor(list(range(1, 41)) + [0] * 40),
                ]
            ),
            num_nodes=42,
        ),
    ],
    ids=["one node", "no edges", "isolated nodes", "star"],
)
@pytest.mark.parametrize("form", FORMS)
def test_awkward_graphs(graph, form):
    compare(graph, inputs_for(graph, layers=2), form, drops=True)


@pytest.mark.parametrize(("a", "w"), [(0.0, 1.0), (0.7, 0.0), (0.0, 0.0), (1e6, -1.0), (0.0, -2.0)])
@pytest.mark.parametrize("form", FORMS)
def test_scalars_at_their_ends(form, a, w):
    graph = random_graph(4, directed=form == "row")
    h, own, others = inputs_for(graph, layers=2)
    compare(graph, (h, torch.full_like(own, a), torch.full_like(others, w)), form)


@pytest.mark.parametrize("form", FORMS)
def test_a_step_is_the_composed_step(form):
    graph = random_graph(5, weighted=True, directed=form == "row")
    h = torch.randn(1, graph.num_nodes, 6)
    a, w = torch.full((1, 1), 0.8), torch.full((1, 1), -1.2)
    grad = torch.randn_like(h)
    moved = graph.to(DEVICE)
    found = gradients(
        lambda h, a, w: fused_chain(moved, h, [(a, w)], 1, form),
        [x.to(DEVICE) for x in (h, a, w)],
        grad.to(DEVICE),
    )
    expected = gradients(
        lambda h, a, w: adaptive_propagate(graph, h, a, w, normalisation=form), (h, a, w), grad
    )
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-5)


def test_twice_is_bitwise_the_same():
    graph = random_graph(6).to(DEVICE)
    inputs = [x.float().to(DEVICE) for x in inputs_for(graph, layers=2)]
    grad = torch.randn_like(inputs[0])
    first, second = (
        gradients(lambda h, a, w: chain(graph, h, a, w, "sym", readout="sum"), inputs, grad)
        for _ in range(2)
    )
    assert all(torch.equal(*pair) for pair in zip(first, second, strict=True))


@pytest.mark.parametrize("readout", READOUTS)
def test_a_second_backward_pass_is_refused_rather_than_wrong(readout):
    graph = random_graph(7).to(DEVICE)
    h, a, w = (x.float().to(DEVICE).requires_grad_() for x in inputs_for(graph, layers=2))
    out = chain(graph, h, a, w, "sym", readout=readout)
    out.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize("readout", READOUTS)
def test_a_chain_within_a_checkpoint_has_the_same_gradients(readout):
    graph = random_graph(8).to(DEVICE)
    inputs = [x.float().to(DEVICE) for x in inputs_for(graph, layers=2)]
    grad = torch.randn_like(inputs[0])

    def plain(h, a, w):
        return chain(graph, h, a, w, "sym", readout=readout)

    def checkpointed(h, a, w):
        return checkpoint(plain, h, a, w, use_reentrant=False)

    for one, other in zip(
        gradients(checkpointed, inputs, grad), gradients(plain, inputs, grad), strict=True
    ):
        assert torch.equal(one, other)


def test_only_what_learns_has_gradients():
    graph = random_graph(8).to(DEVICE)
    h, a, w = (x.float().to(DEVICE) for x in inputs_for(graph, layers=2))
    fixed = gradients(lambda h: chain(graph, h, a, w, "sym", readout="sum"), [h], h)
    learned = gradients(lambda h, a, w: chain(graph, h, a, w, "sym", readout="sum"), [h, a, w], h)
    torch.testing.assert_close(fixed, learned[:2])


@pytest.mark.parametrize("weight", [0.5, torch.tensor(0.5, dtype=torch.float64)])
def test_one_number_serves_every_replica_and_group(weight):
    block = _scalar_block(weight, 2, 3, torch.device("cpu"))
    assert torch.equal(block, torch.full((2, 3), 0.5))


@pytest.mark.gpu
def test_more_than_two_to_the_31_numbers():
    """Only the last rows are compared, where offsets no longer fit into 32 bits."""
    nodes, channels = 2**24 + 5, 130
    ring = torch.arange(nodes, device="cuda")
    edges = torch.stack([ring, (ring + 1) % nodes])
    graph = Graph.from_edge_index(torch.cat([edges, edges.flip(0)], 1), num_nodes=nodes)
    h = torch.randn(1, nodes, channels, device="cuda", dtype=torch.bfloat16)
    a, w = (torch.full((1, 1), x, device="cuda") for x in (0.5, 1.0))
    found = fused_chain(graph, h, [(a, w)], 1, "sym")[0, -4:].float()
    row = h[0, -5:].float()
    around = torch.cat([row, h[0, :1].float()])
    expected = (around[:-2] + around[2:] + 0.5 * around[1:-1]) / 2.5
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)
