"""One adaptive layer on a random graph, beside its peers."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from akgnn.bench.contest import FAILURES, Contestant, measure, reason, shortage
from akgnn.bench.graphs import GRAPHS, check_size
from akgnn.bench.peers import LAYERS, Inputs, bytes_needed, layer_names
from akgnn.bench.record import BOTH, FORWARD, Case, Suite
from akgnn.bench.timing import Task
from akgnn.graph import Graph


@dataclass(frozen=True, kw_only=True)
class LayerPlan:
    """One adaptive layer on a random graph.

    Attributes:
        graph: Kind of graph.
        num_edges: Both directions counted.
        mean_degree: Of the nodes; an even number.
        channels: Width of the signal.
        dtype: Of the signal.
        suite: What the case belongs to; `growth` measures forward and backward together only.
    """

    graph: str = "even"
    num_edges: int = 2_000_000
    mean_degree: int = 10
    channels: int = 64
    dtype: str = "float32"
    suite: Suite = "layer"

    def __post_init__(self) -> None:
        check_size(self.graph, self.num_edges, self.mean_degree)

    @property
    def title(self) -> str:
        """What will be measured."""
        return f"{self.suite}, {self.graph}, {self.num_edges:,} edges, {self.dtype}"

    def measure(self, repetitions: int, device: torch.device) -> Case:
        """Measure it; what goes wrong becomes part of the case."""
        num_nodes = self.num_edges // self.mean_degree
        case = Case(
            suite=self.suite,
            graph=self.graph,
            num_nodes=num_nodes,
            num_edges=num_nodes * self.mean_degree,
            largest_degree=0,
            channels=self.channels,
            dtype=self.dtype,
        )
        dtype: torch.dtype = getattr(torch, self.dtype)
        signal_bytes = num_nodes * self.channels * dtype.itemsize
        # Sorting the edges to see that they are symmetric takes the most.
        if lack := shortage(case.num_edges * 80 + 2 * signal_bytes, device):
            return replace(case, error=lack)
        try:
            generator = torch.Generator(device).manual_seed(0)
            graph = GRAPHS[self.graph](num_nodes, self.mean_degree, generator)
            # Asked now, so that nobody's time holds the answer.
            graph.transpose.degree  # noqa: B018
            h, grad = (
                torch.randn(num_nodes, self.channels, device=device, dtype=dtype) for _ in "hg"
            )
            outcome = measure(self._contestants(graph, h, grad), repetitions, device)
        except FAILURES as error:
            return replace(case, error=reason(error))
        pattern = graph.adjacency.pattern
        indices = sum(
            index.numel() * index.element_size() for index in (pattern.col, pattern.rowptr)
        )
        return replace(
            case,
            num_edges=graph.num_edges,
            largest_degree=int(graph.degree.max()),
            gathered_bytes=graph.num_edges * self.channels * dtype.itemsize + indices,
            copied_bytes=outcome.copied_bytes,
            copy_seconds=outcome.copy_seconds,
            timed=outcome.timed,
        )

    def _contestants(self, graph: Graph, h: Tensor, grad: Tensor) -> list[Contestant]:
        tasks = (BOTH,) if self.suite == "growth" else (FORWARD, BOTH)
        inputs = Inputs(graph, h.dtype)
        h.requires_grad_()
        r = torch.tensor(1.0, device=h.device, requires_grad=True)

        def contestant(name: str) -> Contestant:
            def build() -> list[Task]:
                layer = LAYERS[name](inputs)

                def forward() -> None:
                    with torch.no_grad():
                        layer(h, r)

                def both() -> None:
                    torch.autograd.grad(layer(h, r), (h, r), grad)

                return [forward, both] if FORWARD in tasks else [both]

            return Contestant(name, tasks, build, bytes_needed(name, inputs, self.channels))

        return [contestant(name) for name in layer_names()]
