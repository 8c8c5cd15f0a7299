"""The paper's formulas written out densely, in float64, and graphs to try them on."""

import itertools
from collections.abc import Callable

import torch
from hypothesis import strategies as st
from torch import Tensor, nn

from akgnn.csr import CSR, rowptr_from_rows
from akgnn.graph import Graph


def dense(graph: Graph) -> Tensor:
    """The adjacency matrix with its zeros."""
    return graph.adjacency.to_dense(torch.float64)


def paper_kernel(adjacency: Tensor, lambda_max: float) -> Tensor:
    """A*_k = D_k^-1/2 A_k D_k^-1/2 with A_k as the paper prints it.

    At λ = 1 the row of an isolated node is 0 / 0; it keeps the value it has for every λ > 1.
    """
    identity = torch.eye(len(adjacency), dtype=torch.float64)
    a_k = (2 * lambda_max - 2) / lambda_max * identity + 2 / lambda_max * adjacency
    d_k = a_k.sum(1)
    scale = torch.where(d_k > 0, d_k, 1) ** -0.5
    kernel = scale[:, None] * a_k * scale[None, :]
    return torch.where((d_k == 0)[:, None], identity, kernel)


def dense_kernel(adjacency: Tensor, a: Tensor, w: Tensor, form: str) -> Tensor:
    """C^-1/2 (a I + w A) C^-1/2, or C^-1 (a I + w A), with C = diag(a + |w| d)."""
    identity = torch.eye(len(adjacency), dtype=torch.float64)
    degree = adjacency.sum(1)
    c = a + w.abs() * degree
    alone = (degree == 0) | (c == 0)
    safe = torch.where(alone, 1, c)
    mixed = a * identity + w * adjacency
    if form == "sym":
        kernel = safe[:, None] ** -0.5 * mixed * safe[None, :] ** -0.5
    else:
        kernel = mixed / safe[:, None]
    return torch.where(alone[:, None], identity, kernel)


def random_graph(
    seed: int,
    *,
    num_nodes: int = 12,
    num_edges: int = 20,
    weighted: bool = False,
    directed: bool = False,
    isolated: int = 2,
) -> Graph:
    """A small graph whose last nodes have no edges."""
    generator = torch.Generator().manual_seed(seed)
    index = torch.randint(num_nodes - isolated, (2, num_edges), generator=generator)
    weight = torch.rand(num_edges, generator=generator, dtype=torch.float64) + 0.1
    graph = Graph.from_edge_index(index, weight if weighted else None, num_nodes=num_nodes)
    return graph if directed else graph.symmetrised()


@st.composite
def graphs(draw: st.DrawFn, *, directed: bool = False) -> Graph:
    """Any small graph: perhaps one node, no edges, self-loops and repeats."""
    num_nodes = draw(st.integers(1, 8))
    node = st.integers(0, num_nodes - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=20))
    index = torch.tensor(edges, dtype=torch.int64).view(-1, 2).T
    weight = None
    if draw(st.booleans()):
        numbers = st.floats(0.01, 100, allow_nan=False)
        size = len(edges)
        drawn = draw(st.lists(numbers, min_size=size, max_size=size))
        weight = torch.tensor(drawn, dtype=torch.float64)
    graph = Graph.from_edge_index(index, weight, num_nodes=num_nodes)
    return graph if directed else graph.symmetrised()


def renormalised(graph: Graph) -> Tensor:
    """GCN's matrix, densely."""
    matrix = dense(graph) + torch.eye(graph.num_nodes, dtype=torch.float64)
    scale = matrix.sum(1) ** -0.5
    return scale[:, None] * matrix * scale[None, :]


def normalised(norm: nn.Module, kind: str, h: Tensor) -> Tensor:
    """What a normalisation of this name makes of a signal outside training."""
    if kind == "none":
        return h
    if kind == "length":
        return h / h.square().sum(1, keepdim=True) ** 0.5
    if kind == "layer":
        centred = h - h.mean(1, keepdim=True)
        spread = (centred.square().mean(1, keepdim=True) + 1e-5) ** 0.5
        return centred / spread * norm.weight + norm.bias
    return (h - norm.running_mean) / (norm.running_var + 1e-5) ** 0.5 * norm.weight + norm.bias


def chebyshev(graph: Graph, order: int) -> list[Tensor]:
    """T_0(L̃) to T_(order-1)(L̃) of L̃ = 2 L / λ_max - I, with L = I - D^-1/2 A D^-1/2."""
    matrix, identity = dense(graph), torch.eye(graph.num_nodes, dtype=torch.float64)
    degree = matrix.sum(1)
    scale = torch.where(degree > 0, degree, torch.inf) ** -0.5
    laplacian = identity - scale[:, None] * matrix * scale
    shifted = 2 * laplacian / torch.linalg.eigvalsh(laplacian)[-1] - identity
    polynomials = [identity, shifted]
    while len(polynomials) < order:
        polynomials.append(2 * shifted @ polynomials[-1] - polynomials[-2])
    return polynomials[:order]


def sparse(x: Tensor) -> CSR:
    """The entries of a dense matrix that are not 0."""
    row, col = x.nonzero(as_tuple=True)
    return CSR.from_arrays(rowptr_from_rows(row, len(x)), col, x[row, col], (len(x), x.size(1)))


FORMS = ["sym", "row"]
# Weighted or not, directed or not, with the forms that take them.
KINDS = [
    kind
    for kind in itertools.product([False, True], [False, True], FORMS)
    if kind[1:] != (True, "sym")
]


def with_gradients(
    function: Callable[..., Tensor],
    graph: Graph,
    h: Tensor,
    a: Tensor,
    w: Tensor,
    form: str,
    grad: Tensor,
) -> list[Tensor]:
    """A step and its gradients."""
    inputs = [tensor.detach().clone().requires_grad_() for tensor in (h, a, w)]
    out = function(graph, *inputs, normalisation=form)
    return [out, *torch.autograd.grad(out, inputs, grad)]
