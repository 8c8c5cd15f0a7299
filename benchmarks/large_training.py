"""Full-batch training of AKGNN on generated graphs: seconds a step, time an edge, peak memory.

    python benchmarks/large_training.py [--nodes 1e6,1e8] [--degrees 20,30] [--recompute]

K 5, 64 channels, signals in bfloat16, dropout 0.6 after the transform, every layer and before the
classifier, none on the features. The first step, in which operations compile, does not count.
"""

import argparse
import os
import statistics
import time
from typing import Any

import torch

from akgnn import AKGNN, TrainSettings
from akgnn.cli.show import print_json
from akgnn.data.generated import LargeGraphSettings, large_graph
from akgnn.machine.device import choose_device
from akgnn.machine.memory import peak_bytes, reset_peak
from akgnn.ops.dropout import Noise
from akgnn.training.optimizer import make_optimizer
from akgnn.training.strategies.supervised import training_loss


def measure(nodes: int, degree: float, steps: int, recompute: bool, device: str) -> dict[str, Any]:
    """Build a graph and train some steps on it."""
    started = time.perf_counter()
    settings = LargeGraphSettings(num_nodes=nodes, degree=degree)
    data = large_graph(settings, device=device, dtype=torch.bfloat16)
    # Asked for once, before the first step.
    assert data.graph.is_symmetric
    built = time.perf_counter() - started
    model = AKGNN(data.num_features, 64, data.num_classes, input_dropout=0.0, recompute=recompute)
    model.to(device).train()
    optimizer = make_optimizer(model, TrainSettings())
    losses, seconds = [], []
    for step in range(steps):
        if step == 1:
            reset_peak(device)
        started = time.perf_counter()
        optimizer.zero_grad()
        loss = training_loss(model(data.x, data.graph, Noise(0, step)), data)
        loss.backward()
        optimizer.step()
        # It also waits until the work is done.
        losses.append(loss.item())
        del loss
        seconds.append(time.perf_counter() - started)
    median = statistics.median(seconds[1:])
    return {
        "nodes": nodes,
        "edges": data.graph.num_edges,
        "recompute": recompute,
        "seconds to build": built,
        "seconds a step": seconds[1:],
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
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    device = str(choose_device(options.device))
    sizes = zip(options.nodes.split(","), options.degrees.split(","), strict=True)
    cases = []
    for nodes, degree in sizes:
        case = measure(int(float(nodes)), float(degree), options.steps, options.recompute, device)
        cases.append(case)
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
