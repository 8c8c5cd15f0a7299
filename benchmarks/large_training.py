"""Full-batch training of AKGNN on generated graphs: seconds a step, time an edge, peak memory.

    python benchmarks/large_training.py [--nodes 1e6,1e8] [--degrees 20,30] [--recompute]
    python benchmarks/large_training.py --nodes 2e8 --degrees 30 --channels-at-once 16
    python benchmarks/large_training.py --nodes 111059712 --degrees 28.8 --channels-at-once 32 \
        --features 128 --classes 172 --labelled 0.014

K 5, 64 channels, signals in bfloat16, dropout 0.6 after the transform, every layer and before the
classifier, none on the features. Nodes that train are classified, no others. The first step, in
which operations compile, does not count. The last line has the shape of ogbn-papers100M.
"""

import argparse
import os
import statistics
import time
from dataclasses import replace
from typing import Any

import torch

from akgnn import AKGNN, TrainSettings
from akgnn.cli.show import print_json
from akgnn.data.generated import LargeGraphSettings, large_graph
from akgnn.machine.device import choose_device
from akgnn.machine.memory import peak_bytes, reset_peak
from akgnn.ops.dropout import Noise
from akgnn.training.optimizer import make_optimizer
from akgnn.training.strategies.supervised import loss_of


def measure(
    settings: LargeGraphSettings, labelled: float, steps: int, network: dict[str, Any], device: str
) -> dict[str, Any]:
    """Build a graph, of which such a share trains, and take some steps on it."""
    started = time.perf_counter()
    data = large_graph(settings, device=device, dtype=torch.bfloat16)
    chosen = torch.randperm(len(data.split.train), device=device)[: int(labelled * len(data.y))]
    train = data.split.train[chosen.sort().values]
    data = data.with_split(replace(data.split, name="fewer", train=train))
    # Asked for once, before the first step.
    assert data.graph.is_symmetric
    built = time.perf_counter() - started
    model = AKGNN(data.num_features, 64, data.num_classes, input_dropout=0.0, **network)
    model.to(device).train()
    optimizer = make_optimizer(model, TrainSettings())
    losses, seconds, evaluations = [], [], []
    for step in range(steps):
        if step == 1:
            reset_peak(device)
        started = time.perf_counter()
        optimizer.zero_grad()
        loss = loss_of(model, data, data.graph, Noise(0, step))
        loss.backward()
        optimizer.step()
        # It also waits until the work is done.
        losses.append(loss.item())
        del loss
        seconds.append(time.perf_counter() - started)
        model.eval()
        with torch.no_grad():
            loss_of(model, data, data.graph).item()
        model.train()
        evaluations.append(time.perf_counter() - started - seconds[-1])
    median = statistics.median(seconds[1:])
    return {
        "nodes": settings.num_nodes,
        "edges": data.graph.num_edges,
        "features": data.num_features,
        "classes": data.num_classes,
        "nodes that train": len(train),
        **network,
        "seconds to build": built,
        "seconds a step": seconds[1:],
        "seconds an evaluation": evaluations[1:],
        "steps a minute": 60 / median,
        "nanoseconds an edge": 1e9 * median / data.graph.num_edges,
        "peak GiB": peak_bytes(device) / 2**30,
        "losses": losses,
    }


def main() -> None:
    """Measure each size and print one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", default="1e6,1e8")
    parser.add_argument("--degrees", default="20,30")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--recompute", action="store_true")
    parser.add_argument("--channels-at-once", type=int, default=0)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--classes", type=int, default=8)
    parser.add_argument("--labelled", type=float, default=0.1)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    device = str(choose_device(options.device))
    network = {
        "recompute": options.recompute,
        "channels_at_once": options.channels_at_once,
    }
    sizes = zip(options.nodes.split(","), options.degrees.split(","), strict=True)
    cases = []
    for nodes, degree in sizes:
        settings = LargeGraphSettings(
            num_nodes=int(float(nodes)),
            degree=float(degree),
            num_features=options.features,
            num_classes=options.classes,
        )
        cases.append(measure(settings, options.labelled, options.steps, network, device))
        if device.startswith("cuda"):
            torch.cuda.empty_cache()
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else "cpu"
    print_json(
        {
            "cases": cases,
            "device": name,
            "torch": torch.__version__,
            "commit": os.environ.get("AKGNN_COMMIT", ""),
        }
    )


if __name__ == "__main__":
    main()
