"""The graph inside an exported program: edges that are not known when it is written."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from akgnn.errors import ExportError


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

    @classmethod
    def without_loops(
        cls, edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int
    ) -> "EdgeList":
        """Leave out self-loops, as `Graph` does."""
        kept = edge_index[0] != edge_index[1]
        weight = None if edge_weight is None else edge_weight[kept]
        return cls(edge_index[:, kept], weight, num_nodes)

    @cached_property
    def degree(self) -> Tensor:
        """The weighted number of in-neighbours."""
        target = self.edge_index[1]
        weight = self.edge_weight
        if weight is None:
            weight = torch.ones_like(target, dtype=torch.float32)
        zeros = torch.zeros(self.num_nodes, dtype=weight.dtype, device=weight.device)
        return zeros.index_add(0, target, weight)

    @cached_property
    def mean_degree(self) -> Tensor:
        """The mean of the degrees above 0; 1 where there are none."""
        connected = (self.degree > 0).sum()
        return torch.where(connected > 0, self.degree.sum() / connected.clamp_min(1), 1.0)

    @cached_property
    def transpose(self) -> "EdgeList":
        """The graph with every edge turned round."""
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
