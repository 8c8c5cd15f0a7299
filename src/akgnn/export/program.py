"""Models as programs of torch.export: for one graph, or for any."""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from akgnn.errors import ExportError
from akgnn.graph import Graph
from akgnn.models.chebynet import ChebConv


@dataclass(frozen=True, eq=False)
class EdgeList:
    """As much of a `Graph` as models ask for, in operations that torch.export can follow.

    Nothing is checked, because a program cannot look at its inputs while it is being traced.

    Attributes:
        edge_index: Sources and targets, without self-loops.
        edge_weight: One number an edge, or None.
        num_nodes: Number of nodes.
        frequency: What `Graph.largest_frequency` is on the one graph that the program is for.
    """

    edge_index: Tensor
    edge_weight: Tensor | None
    num_nodes: int
    frequency: float | None = None

    @cached_property
    def degree(self) -> Tensor:
        """The weighted number of in-neighbours."""
        target = self.edge_index[1]
        weight = self.edge_weight
        if weight is None:
            weight = torch.ones_like(target, dtype=torch.float32)
        zeros = torch.zeros(self.num_nodes, dtype=weight.dtype, device=weight.device)
        return zeros.scatter_add(0, target, weight)

    @cached_property
    def mean_degree(self) -> Tensor:
        """The mean of the degrees above 0; 1 where there are none."""
        connected = (self.degree > 0).sum()
        return torch.where(connected > 0, self.degree.sum() / connected.clamp_min(1), 1.0)

    @cached_property
    def transpose(self) -> "EdgeList":
        """The graph with every edge transposed."""
        return EdgeList(self.edge_index.flip(0), self.edge_weight, self.num_nodes)

    @property
    def largest_frequency(self) -> float:
        """The largest eigenvalue of the normalised Laplacian, which no program computes."""
        if self.frequency is None:
            raise ExportError(
                "it needs the largest eigenvalue of the Laplacian, which a program for any graph "
                "cannot compute. Export it for its own graph"
            )
        return self.frequency


Case = tuple[Tensor, Graph]
Run = Callable[[Tensor, Graph], Tensor]
# What a program for any graph is traced with; sizes of 0 and 1 would be taken for constants.
_EDGES = ((0, 1, 1, 2, 3, 3), (1, 0, 2, 1, 3, 2))
_NODES = 5

# What torch raises where a model does something that it cannot follow.
FAILURES = (RuntimeError, TypeError, ValueError, AttributeError)


class OneGraph(nn.Module):
    """A model and its graph, as a function of the features."""

    edge_index: Tensor
    edge_weight: Tensor | None

    def __init__(self, model: nn.Module, graph: Graph) -> None:
        super().__init__()
        self.model, self.num_nodes = model, graph.num_nodes
        self.register_buffer("edge_index", graph.edge_index)
        self.register_buffer("edge_weight", graph.edge_weight)
        # Known to few models, and expensive.
        asks = any(isinstance(module, ChebConv) for module in model.modules())
        self.frequency = graph.largest_frequency if asks else None

    def forward(self, x: Tensor) -> Tensor:
        """Class scores (logits), shape (nodes, classes)."""
        graph = EdgeList(self.edge_index, self.edge_weight, self.num_nodes, self.frequency)
        return cast(Tensor, self.model(x, graph))


class AnyGraph(nn.Module):
    """A model as a function of features and edges."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Class scores (logits), shape (nodes, classes).

        Edges as `Graph.edge_index` lists them: both directions of an undirected one, and none
        twice. Self-loops are left out.
        """
        kept = edge_index[0] != edge_index[1]
        weight = None if edge_weight is None else edge_weight[kept]
        return cast(Tensor, self.model(x, EdgeList(edge_index[:, kept], weight, x.size(0))))


def program_for_graph(model: nn.Module, graph: Graph, num_features: int) -> ExportedProgram:
    """A program of x alone; the graph is part of it."""
    x = torch.zeros(graph.num_nodes, num_features)
    return _exported(OneGraph(model, graph), (x,), None)


def program_for_any_graph(
    model: nn.Module, num_features: int, *, is_weighted: bool
) -> ExportedProgram:
    """A program of x and edge_index, and of edge_weight if weighted, for graphs of any size."""
    nodes, edges = Dim("nodes"), Dim("edges")
    inputs = [torch.rand(_NODES, num_features), torch.tensor(_EDGES)]
    sizes = [{0: nodes}, {1: edges}]
    if is_weighted:
        inputs.append(torch.ones(len(_EDGES[0])))
        sizes.append({0: edges})
    return _exported(AnyGraph(model), tuple(inputs), tuple(sizes))


def _exported(
    module: nn.Module, inputs: tuple[Tensor, ...], sizes: tuple[dict[int, Dim], ...] | None
) -> ExportedProgram:
    try:
        with torch.no_grad(), quietly("torch"):
            program = torch.export.export(module.eval(), inputs, dynamic_shapes=sizes)
    except ExportError:
        raise
    except FAILURES as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ExportError(f"torch.export cannot follow it: {reason[0].rstrip('.')}") from error
    # They would be kept in the file, features and all.
    program.example_inputs = None
    return program


@contextmanager
def quietly(*loggers: str) -> Iterator[None]:
    """Inside, warnings and remarks of these packages on their own code are not shown."""
    before = {name: logging.getLogger(name).level for name in loggers}
    try:
        for name in loggers:
            logging.getLogger(name).setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def inputs_of(x: Tensor, graph: Graph) -> tuple[Tensor, Tensor, Tensor]:
    """What an exported model may take: x, edge_index and edge_weight."""
    weight = graph.edge_weight
    return x, graph.edge_index, torch.ones(graph.num_edges) if weight is None else weight.float()
