"""The adaptive layer: ours, and composed from what PyTorch and PyG offer.

A peer computes s (A u + r u) with u = s h and s = (d + r)^-1/2, and differs from the others in
the product A u alone; its gradient is autograd's.
"""

import warnings
from collections.abc import Callable
from importlib.util import find_spec

import torch
from torch import Tensor

from akgnn.graph import Graph
from akgnn.ops.adaptive import adaptive_propagate

OURS = "akgnn"
Product = Callable[[Tensor], Tensor]
Layer = Callable[[Tensor, Tensor], Tensor]
Builder = Callable[[Graph, torch.dtype], Layer]


def has_pyg() -> bool:
    """Whether PyG is installed."""
    return find_spec("torch_geometric") is not None


def layer_names() -> list[str]:
    """The layers that can be built here, ours first."""
    return [name for name in LAYERS if has_pyg() or not name.startswith("PyG")]


def our_layer(graph: Graph, dtype: torch.dtype) -> Layer:
    """The layer of this package."""
    return lambda h, r: adaptive_propagate(graph, h, r)


def composed(product: Callable[[Graph, torch.dtype], Product]) -> Builder:
    """A layer around a product with A; for r > 0."""

    def build(graph: Graph, dtype: torch.dtype) -> Layer:
        multiply = product(graph, dtype)
        degree = graph.degree.unsqueeze(1)

        def layer(h: Tensor, r: Tensor) -> Tensor:
            s = (degree + r).rsqrt().to(h.dtype)
            u = s * h
            return s * (multiply(u) + r.to(h.dtype) * u)

        return layer

    return build


def csr_product(graph: Graph, dtype: torch.dtype) -> Product:
    """PyTorch's CSR matrix."""
    pattern = graph.adjacency.pattern
    ones = torch.ones(graph.num_edges, dtype=dtype, device=graph.device)
    with warnings.catch_warnings():
        # That CSR is in beta.
        warnings.simplefilter("ignore")
        matrix = torch.sparse_csr_tensor(
            pattern.rowptr, pattern.col, ones, (graph.num_nodes, graph.num_nodes)
        )
    return lambda u: matrix @ u


def coo_product(graph: Graph, dtype: torch.dtype) -> Product:
    """PyTorch's COO matrix."""
    ones = torch.ones(graph.num_edges, dtype=dtype, device=graph.device)
    matrix = torch.sparse_coo_tensor(
        graph.edge_index.flip(0), ones, (graph.num_nodes, graph.num_nodes), is_coalesced=True
    )
    return lambda u: torch.sparse.mm(matrix, u)


def edge_index_product(graph: Graph, dtype: torch.dtype) -> Product:
    """PyG's sorted edges with what they keep for products filled in."""
    from torch_geometric import EdgeIndex

    # EdgeIndex multiplies with the matrix whose row is the first index.
    matrix = EdgeIndex(
        graph.edge_index.flip(0),
        sparse_size=(graph.num_nodes, graph.num_nodes),
        sort_order="row",
        is_undirected=True,
    )
    matrix.fill_cache_()
    # Not `matrix @ u`: its backward pass crashes.
    product: Product = matrix.matmul
    return product


def scatter_product(graph: Graph, dtype: torch.dtype) -> Product:
    """PyG's gather and scatter, the default of its layers."""
    from torch_geometric.utils import scatter

    source, target = graph.edge_index

    def product(u: Tensor) -> Tensor:
        out: Tensor = scatter(u.index_select(0, source), target, dim_size=graph.num_nodes)
        return out

    return product


LAYERS: dict[str, Builder] = {
    OURS: our_layer,
    "torch CSR": composed(csr_product),
    "torch COO": composed(coo_product),
    "PyG EdgeIndex": composed(edge_index_product),
    "PyG scatter": composed(scatter_product),
}


def bytes_needed(name: str, graph: Graph, channels: int, dtype: torch.dtype) -> int:
    """Roughly what a layer takes beyond graph, signal and gradient, to see whether it fits.

    A CPU does not refuse what is too much, the system ends the process instead.
    """
    signal = graph.num_nodes * channels * dtype.itemsize
    messages = graph.num_edges * channels * dtype.itemsize if name == "PyG scatter" else 0
    indices = graph.num_edges * (8 if name == OURS else 48)
    return 5 * signal + 2 * messages + indices
