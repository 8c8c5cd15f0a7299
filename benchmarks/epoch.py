"""Speed on this machine's CPU, side by side in one run: a Cora epoch, and one adaptive layer.

    python benchmarks/epoch.py [--repetitions 9] [--json results/bench/epoch.json]

Figures are medians; what counts is their ratio. The peers are written the way PyG's own examples
write them: its two-layer GCN with cached normalisation, and the adaptive layer made from its
`EdgeIndex.matmul` and its scatter.
"""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric import EdgeIndex
from torch_geometric.nn import GCNConv
from torch_geometric.utils import scatter

from akgnn import AKGNN, Graph, NodeData, Noise, TrainSettings, adaptive_propagate, load_dataset
from akgnn.csr import CSR
from akgnn.training.optimizer import make_optimizer


def median_ms(tasks: dict[str, Callable[[], Any]], repetitions: int) -> dict[str, float]:
    """Median time of each task in milliseconds; the tasks take turns, so noise hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for task in tasks.values():
        task()
    for _ in range(repetitions):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            times[name].append(1000 * (time.perf_counter() - start))
    return {name: statistics.median(values) for name, values in times.items()}


class PyGGCN(nn.Module):
    """The two-layer GCN of PyG's example, with dropout on the dense input."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv1 = GCNConv(in_channels, hidden_channels, cached=True)
        self.conv2 = GCNConv(hidden_channels, out_channels, cached=True)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Class scores."""
        x = F.dropout(x, p=0.5, training=self.training)
        x = self.conv1(x, edge_index).relu()
        x = F.dropout(x, p=0.5, training=self.training)
        out: Tensor = self.conv2(x, edge_index)
        return out


def epoch_tasks(data: NodeData) -> dict[str, Callable[[], Any]]:
    """One training step and one evaluation of each model."""
    train, y = data.split.train, data.y

    def epoch(model: nn.Module, optimizer: Any, forward: Callable[[], Tensor]) -> None:
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(forward()[train], y[train]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            forward()

    ours = AKGNN(data.num_features, 64, data.num_classes)
    theirs = PyGGCN(data.num_features, 64, data.num_classes)
    dense = data.x.to_dense() if isinstance(data.x, CSR) else data.x
    edge_index = data.graph.edge_index
    step = iter(range(10**9))

    def akgnn_forward() -> Tensor:
        noise = Noise(0, next(step)) if ours.training else None
        out: Tensor = ours(data.x, data.graph, noise)
        return out

    our_optimizer = make_optimizer(ours, TrainSettings())
    their_optimizer = torch.optim.Adam(theirs.parameters(), lr=0.01, weight_decay=5e-4)
    return {
        "akgnn": lambda: epoch(ours, our_optimizer, akgnn_forward),
        "pyg gcn": lambda: epoch(theirs, their_optimizer, lambda: theirs(dense, edge_index)),
    }


def layer_tasks(num_nodes: int, num_edges: int, channels: int) -> dict[str, Callable[[], Any]]:
    """Forward and backward of one adaptive layer, λ learned, on a random undirected graph."""
    torch.manual_seed(0)
    half = torch.randint(num_nodes, (2, num_edges // 2))
    graph = Graph.from_edge_index(torch.cat([half, half.flip(0)], 1), num_nodes=num_nodes)
    assert graph.is_symmetric
    source, target = graph.edge_index
    # EdgeIndex multiplies with the matrix whose row is the first index.
    matrix = EdgeIndex(
        torch.stack([target, source]),
        sparse_size=(num_nodes, num_nodes),
        sort_order="row",
        is_undirected=True,
    )
    matrix.fill_cache_()
    degree = graph.degree.unsqueeze(1)
    h = torch.randn(num_nodes, channels, requires_grad=True)
    r = torch.tensor(1.0, requires_grad=True)
    grad = torch.randn(num_nodes, channels)

    def composed(product: Callable[[Tensor], Tensor]) -> Tensor:
        s = (degree + r).rsqrt()
        u = s * h
        return s * (product(u) + r * u)

    def both_ways(forward: Callable[[], Tensor]) -> Callable[[], Any]:
        return lambda: torch.autograd.grad(forward(), (h, r), grad)

    return {
        "akgnn": both_ways(lambda: adaptive_propagate(graph, h, r)),
        "pyg EdgeIndex.matmul": both_ways(lambda: composed(matrix.matmul)),
        "pyg scatter": both_ways(
            lambda: composed(lambda u: scatter(u[source], target, dim_size=num_nodes))
        ),
    }


def main() -> None:
    """Measure, print and, if asked, keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()

    results: dict[str, dict[str, float]] = {}
    for name in ("cora", "citeseer", "pubmed"):
        repetitions = 3 * options.repetitions
        results[f"epoch on {name}"] = median_ms(epoch_tasks(load_dataset(name)), repetitions)
    sizes = (200_000, 2_000_000, 64)
    results["layer forward + backward, 200,000 nodes, 2,000,000 edges, 64 channels"] = median_ms(
        layer_tasks(*sizes), options.repetitions
    )
    for title, figures in results.items():
        print(title)
        for name, value in figures.items():
            ratio = value / figures["akgnn"]
            print(f"  {name:22s} {value:9.2f} ms   {ratio:6.2f} times akgnn's")
    if options.json:
        record = {
            "milliseconds": results,
            "repetitions": options.repetitions,
            "threads": torch.get_num_threads(),
            "cores": os.cpu_count(),
            "torch": torch.__version__,
            "platform": platform.platform(),
        }
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
