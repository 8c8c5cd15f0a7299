"""What is measured: one adaptive layer on a random graph beside its peers, and whole epochs.

An epoch is one training step and one evaluation: AKGNN beside PyG's GCN.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.bench.contest import FAILURES, Contestant, Task, measure, reason, shortage
from akgnn.bench.graphs import GRAPHS, check_size
from akgnn.bench.peers import LAYERS, OURS, Inputs, bytes_needed, has_pyg, layer_names
from akgnn.bench.record import BOTH, EPOCH, FORWARD, Case, Suite
from akgnn.csr import CSR
from akgnn.data.catalogue import load_dataset
from akgnn.data.node_data import NodeData
from akgnn.graph import Graph
from akgnn.models.akgnn import AKGNN
from akgnn.ops.dropout import Noise
from akgnn.training.optimizer import make_optimizer
from akgnn.training.settings import TrainSettings

DATASETS = ("cora", "citeseer", "pubmed")
HIDDEN_CHANNELS = 64


@dataclass(frozen=True, kw_only=True)
class LayerPlan:
    """One adaptive layer on a random graph, whose mean degree is an even number.

    `num_edges` counts both directions; `growth` measures forward and backward together only.
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
        indices = pattern.col.nbytes + pattern.rowptr.nbytes
        return replace(
            case,
            num_edges=graph.num_edges,
            largest_degree=int(graph.degree.max()),
            gathered_bytes=graph.num_edges * self.channels * dtype.itemsize + indices,
            **vars(outcome),
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


@dataclass(frozen=True)
class EpochPlan:
    """Whole epochs on a data set that comes with akgnn."""

    dataset: str

    @property
    def title(self) -> str:
        """What will be measured."""
        return f"epoch, {self.dataset}"

    def measure(self, repetitions: int, device: torch.device) -> Case:
        """Measure it; what goes wrong becomes part of the case."""
        data = load_dataset(self.dataset).to(device)
        graph = data.graph
        case = Case(
            suite="epoch",
            graph=self.dataset,
            num_nodes=graph.num_nodes,
            num_edges=graph.num_edges,
            largest_degree=int(graph.degree.max()),
            channels=HIDDEN_CHANNELS,
            dtype="float32",
        )
        contestants = [Contestant(OURS, (EPOCH,), lambda: [akgnn_epoch(data)])]
        if has_pyg():
            contestants.append(Contestant("PyG GCN", (EPOCH,), lambda: [pyg_gcn_epoch(data)]))
        try:
            outcome = measure(contestants, repetitions, device)
        except FAILURES as error:
            return replace(case, error=reason(error))
        return replace(case, **vars(outcome))


def akgnn_epoch(data: NodeData) -> Task:
    """AKGNN with the paper's settings, K = 5, on sparse features, as `akgnn train` has it."""
    model = AKGNN(data.num_features, HIDDEN_CHANNELS, data.num_classes).to(data.y.device)
    step = 0

    def forward() -> Tensor:
        nonlocal step
        step += 1
        out: Tensor = model(data.x, data.graph, Noise(0, step) if model.training else None)
        return out

    return _epoch(model, make_optimizer(model, TrainSettings()), forward, data)


def pyg_gcn_epoch(data: NodeData) -> Task:
    """Dense features and cached normalisation, as PyG's example has it."""
    model = pyg_gcn(data.num_features, HIDDEN_CHANNELS, data.num_classes).to(data.y.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    x = data.x.to_dense() if isinstance(data.x, CSR) else data.x
    edge_index = data.graph.edge_index
    return _epoch(model, optimizer, lambda: model(x, edge_index), data)


def pyg_gcn(in_channels: int, hidden_channels: int, out_channels: int) -> nn.Module:
    """The two-layer GCN of PyG's example."""
    from torch_geometric.nn import GCNConv

    class GCN(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1: Any = GCNConv(in_channels, hidden_channels, cached=True)
            self.conv2: Any = GCNConv(hidden_channels, out_channels, cached=True)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            x = F.dropout(x, p=0.5, training=self.training)
            x = self.conv1(x, edge_index).relu()
            x = F.dropout(x, p=0.5, training=self.training)
            out: Tensor = self.conv2(x, edge_index)
            return out

    return GCN()


def _epoch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    forward: Callable[[], Tensor],
    data: NodeData,
) -> Task:
    train, y = data.split.train, data.y

    def epoch() -> None:
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(forward()[train], y[train]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            forward()

    return epoch
