"""The adaptive layer: ours, and composed from what PyTorch and PyG offer.

A peer computes s (A u + r u) with u = s h and s = (d + r)^-1/2, and differs from the others in
the product A u alone; its gradient is autograd's.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec

import torch
from torch import Tensor

from akgnn.graph import Graph
from akgnn.ops.adaptive import adaptive_propagate

OURS = "akgnn"
Product = Callable[[Tensor], Tensor]
Layer = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Inputs:
    """What layers are built from: an undirected graph, and the type of the signals."""

    graph: Graph
    dtype: torch.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix A."""
        return self.graph.num_nodes, self.graph.num_nodes

    @cached_property
    def rows_and_columns(self) -> Tensor:
        """Of the entries of A, sorted by row; large, so that those who need it share it."""
        return self.graph.edge_index.flip(0)

    def ones(self) -> Tensor:
        """The entries of A."""
        return torch.ones(self.graph.num_edges, dtype=self.dtype, device=self.graph.device)


Builder = Callable[[Inputs], Layer]


def has_pyg() -> bool:
    """Whether PyG is installed."""
    return find_spec("torch_geometric") is not None


def layer_names() -> list[str]:
    """The layers that can be built here, ours first."""
    return [name for name in LAYERS if has_pyg() or not name.startswith("PyG")]


def our_layer(inputs: Inputs) -> Layer:
    """The layer of this package."""
    return lambda h, r: adaptive_propagate(inputs.graph, h, r)


def composed(product: Callable[[Inputs], Product]) -> Builder:
    """A layer around a product with A; for r > 0."""

    def build(inputs: Inputs) -> Layer:
        multiply = product(inputs)
        degree = inputs.graph.degree.unsqueeze(1)

        def layer(h: Tensor, r: Tensor) -> Tensor:
            s = (degree + r).rsqrt().to(h.dtype)
            u = s * h
            return s * (multiply(u) + r.to(h.dtype) * u)

        return layer

    return build


def csr_product(inputs: Inputs) -> Product:
    """PyTorch's CSR matrix."""
    pattern = inputs.graph.adjacency.pattern
    with warnings.catch_warnings():
        # That CSR is in beta.
        warnings.simplefilter("ignore")
        matrix = torch.sparse_csr_tensor(pattern.rowptr, pattern.col, inputs.ones(), inputs.shape)
    return lambda u: matrix @ u


def coo_product(inputs: Inputs) -> Product:
    """PyTorch's COO matrix."""
    matrix = torch.sparse_coo_tensor(
        inputs.rows_and_columns, inputs.ones(), inputs.shape, is_coalesced=True
    )
    return lambda u: torch.sparse.mm(matrix, u)


def edge_index_product(inputs: Inputs) -> Product:
    """PyG's sorted edges with what they keep for products filled in."""
    from torch_geometric import EdgeIndex

    # EdgeIndex multiplies with the matrix whose row is the first index.
    matrix = EdgeIndex(
        inputs.rows_and_columns, sparse_size=inputs.shape, sort_order="row", is_undirected=True
    )
    matrix.fill_cache_()
    # Not `matrix @ u`: its backward pass crashes.
    product: Product = matrix.matmul
    return product


def scatter_product(inputs: Inputs) -> Product:
    """PyG's gather and scatter, the default of its layers."""
    from torch_geometric.utils import scatter

    target, source = inputs.rows_and_columns

    def product(u: Tensor) -> Tensor:
        out: Tensor = scatter(u.index_select(0, source), target, dim_size=inputs.shape[0])
        return out

    return product


LAYERS: dict[str, Builder] = {
    OURS: our_layer,
    "torch CSR": composed(csr_product),
    "torch COO": composed(coo_product),
    "PyG EdgeIndex": composed(edge_index_product),
    "PyG scatter": composed(scatter_product),
}


def bytes_needed(name: str, inputs: Inputs, channels: int) -> int:
    """Roughly what a layer takes beyond graph, signal and gradient, to see whether it fits.

    A CPU does not refuse what is too much, the system ends the process instead.
    """
    nodes, edges = inputs.graph.num_nodes, inputs.graph.num_edges
    row = channels * inputs.dtype.itemsize
    messages = 2 * edges * row if name == "PyG scatter" else 0
    return 5 * nodes * row + edges * (8 if name == OURS else 48) + messages
