"""One training epoch of the deep form beside the same network made of PyG's layers.

    python benchmarks/deep_epoch.py [--data-root FOLDER] [--repeats 7] [--threads 2] [--device cuda]

The graph is Photo, or a generated one of its size and density where Photo is not to be had. Both
networks have four blocks of 128 channels: a propagation and a linear residual, batch normalisation,
relu and dropout 0.5; their sum; one linear map to the classes. Ours learns 16 scalars a block;
PyG's has GCN's kernel, normalised once (`cached=True`), over `edge_index` as most have it and over
a sparse CSR matrix. Features are dense for all: of Photo's 35 % are not 0.

An epoch is a step of training and a look at validation. On a GPU ours is measured twice: launched
from Python as PyG's is, and recorded once and replayed, as `akgnn train` and `fit_many` do. All
take turns, so that whatever else the machine does concerns them alike; a repetition is the mean of
some epochs. The process keeps the memory that it frees, as `akgnn train` does, for all of them.
Shown are medians in milliseconds, the ratio of ours to each (the recorded one if there is), and the
load of the machine at the beginning, which should be near 0 for times to mean something.
`--processor` takes processor seconds of all threads instead of time passed, which tell something on
a busy machine too.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from akgnn import Graph, TrainSettings
from akgnn.cli.show import print_json
from akgnn.data.catalogue import load_dataset
from akgnn.data.node_data import NodeData, numbered
from akgnn.data.splits import split_per_class
from akgnn.errors import DataError
from akgnn.machine.device import keep_freed_memory
from akgnn.models.akgnn_deep import DeepAKGNN
from akgnn.ops.dropout import Noise
from akgnn.training.batched.stacked import StackedRun, StackedTrainer
from akgnn.training.optimizer import make_optimizer
from akgnn.training.state import TrainingState
from akgnn.training.strategies.supervised import Supervised

_NODES, _EDGES, _FEATURES, _CLASSES, _DENSITY = 7650, 238_162, 745, 8, 0.35
_CHANNELS, _BLOCKS, _RATE, _GROUPS = 128, 4, 0.5, 16

Forward = Callable[[int | None], Tensor]
"""Class scores of all nodes: in training at a step, in evaluation at None."""

Epoch = Callable[[int], object]
"""Does the epoch of this number."""


class PyGBlocks(nn.Module):
    """The network of PyG's layers."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.first = nn.Linear(in_channels, _CHANNELS)
        self.convs = nn.ModuleList(
            GCNConv(_CHANNELS, _CHANNELS, cached=True, bias=False) for _ in range(_BLOCKS)
        )
        self.residuals = nn.ModuleList(nn.Linear(_CHANNELS, _CHANNELS) for _ in range(_BLOCKS))
        self.norms = nn.ModuleList(nn.BatchNorm1d(_CHANNELS) for _ in range(_BLOCKS))
        self.classifier = nn.Linear(_CHANNELS, out_channels)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Class scores."""
        h, total = self.first(x), 0
        for conv, residual, norm in zip(self.convs, self.residuals, self.norms, strict=True):
            h = F.relu(norm(conv(h, edges) + residual(h)))
            h = F.dropout(h, _RATE, self.training)
            total = total + h
        return self.classifier(total)


def photo(data_root: str | None, device: str) -> NodeData:
    """Photo, or a generated graph of its size and density."""
    try:
        data = load_dataset("photo", data_root=data_root)
    except DataError:
        generator = torch.Generator().manual_seed(0)
        pairs = torch.randint(_NODES, (2, _EDGES // 2), generator=generator)
        graph = Graph.from_edge_index(torch.cat([pairs, pairs.flip(0)], 1), num_nodes=_NODES)
        x = (torch.rand(_NODES, _FEATURES, generator=generator) < _DENSITY).float()
        y = torch.arange(_NODES) % _CLASSES
        split = split_per_class(y, per_class=20, seed=0)
        data = NodeData("generated", x, y, graph, split, numbered(_CLASSES))
    return data.to(device)


def networks(data: NodeData) -> dict[str, tuple[nn.Module, Forward]]:
    """Ours and PyG's by name, ours first."""
    device, sizes = data.y.device, (data.num_features, data.num_classes)
    ours = DeepAKGNN(
        sizes[0],
        _CHANNELS,
        sizes[1],
        num_layers=_BLOCKS,
        norm="batch",
        groups=_GROUPS,
        input_dropout=0.0,
        layer_dropout=_RATE,
        classifier_dropout=0.0,
    ).to(device)

    def our_scores(step: int | None) -> Tensor:
        noise = None if step is None else Noise(0, step)
        return ours(data.x, data.graph, noise)

    x = data.x if isinstance(data.x, Tensor) else data.x.to_dense()
    edge_index = data.graph.edge_index.long()
    size = (data.graph.num_nodes,) * 2
    value = torch.ones(edge_index.size(1), device=device)
    matrix = torch.sparse_coo_tensor(edge_index.flip(0), value, size).to_sparse_csr()
    found: dict[str, tuple[nn.Module, Forward]] = {"akgnn": (ours, our_scores)}
    for name, edges in (("pyg, edge_index", edge_index), ("pyg, sparse matrix", matrix)):
        network = PyGBlocks(*sizes).to(device)
        found[name] = (network, lambda step, network=network, edges=edges: network(x, edges))
    return found


def epoch(model: nn.Module, forward: Forward, data: NodeData, optimizer: Any, step: int) -> float:
    """Take one step and look at validation; gives the validation loss."""
    train, val = data.split.train, data.split.val
    model.train()
    optimizer.zero_grad()
    F.cross_entropy(forward(step)[train], data.y[train]).backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        # It also waits until the work is done.
        return float(F.cross_entropy(forward(None)[val], data.y[val]))


def recorded(data: NodeData) -> Epoch:
    """An epoch of ours as `fit_many` does it on a GPU; it writes the history down too."""
    model, _ = networks(data)["akgnn"]
    state = TrainingState(model, data.graph, TrainSettings(epochs=10_000, patience=10_000), None)
    trainer = StackedTrainer([StackedRun(0, 0, state)], data, Supervised(), 1, lambda *_: None)
    return lambda _: trainer.train_epoch()


def measure(
    data: NodeData, repeats: int, epochs: int, clock: Callable[[], float]
) -> dict[str, Any]:
    """Medians over repetitions, in which the networks take turns."""
    todo: dict[str, Epoch] = {}
    for name, (model, forward) in networks(data).items():
        optimizer = make_optimizer(model, TrainSettings())
        todo[name] = partial(epoch, model, forward, data, optimizer)
    if data.y.is_cuda:
        todo["akgnn, recorded"] = recorded(data)
    times: dict[str, list[float]] = {name: [] for name in todo}
    for repeat in range(repeats + 1):
        for name, train in todo.items():
            started = clock()
            for step in range(epochs):
                train(repeat * epochs + step)
            times[name].append(1000 * (clock() - started) / epochs)
    # In the first repetition caches fill and operations compile.
    medians = {name: statistics.median(measured[1:]) for name, measured in times.items()}
    ours = medians.get("akgnn, recorded", medians["akgnn"])
    return {
        name: {
            "milliseconds": round(median, 2),
            "least": round(min(times[name][1:]), 2),
            "most": round(max(times[name][1:]), 2),
            "ours to it": round(ours / median, 3),
        }
        for name, median in medians.items()
    }


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data-root")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--processor", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    result: dict[str, Any] = {
        "load": [round(value, 2) for value in os.getloadavg()],
        "threads": options.threads,
        "clock": "processor" if options.processor else "wall",
    }
    clock = time.process_time if options.processor else time.perf_counter
    data = photo(options.data_root, options.device)
    result["data"] = data.name
    result[options.device] = measure(data, options.repeats, options.epochs, clock)
    print_json(result)


if __name__ == "__main__":
    main()
