"""A training step of one process on parts of a graph, against the same step on the whole graph.

    python benchmarks/parts_step.py --parts FOLDER [--steps 5] [--set hidden_channels=64]

The graph is put together from the folder that `akgnn partition` wrote, so both train on the same.
Steps of both take turns, after one of each that does not count. Shown are the medians, wall time
and processor time, and the median of the quotients of neighbouring steps.
"""

import argparse
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from statistics import median

import torch

from akgnn.data.node_data import NodeData
from akgnn.distributed.folder import open_parts
from akgnn.distributed.group import Group
from akgnn.distributed.trainer import OwnRows, own_rows
from akgnn.distributed.whole import whole_data
from akgnn.machine.device import keep_freed_memory
from akgnn.models.akgnn import AKGNN
from akgnn.ops.dropout import Noise
from akgnn.training.fit import take_steps
from akgnn.training.strategies.supervised import Supervised

Seconds = tuple[float, float]


def main() -> None:
    """Time both, step by step."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--parts", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--hidden-channels", type=int, default=64)
    asked = parser.parse_args()
    keep_freed_memory()
    parts = open_parts(asked.parts, check=False)
    rows = own_rows(parts, Group())
    steps = {
        "whole": _step(whole_data(parts), None, asked.hidden_channels),
        f"{parts.num_parts} parts": _step(rows.data, rows, asked.hidden_channels),
    }
    times: dict[str, list[Seconds]] = {name: [] for name in steps}
    for number in range(asked.steps + 1):
        for name, step in steps.items():
            wall, processor = time.perf_counter(), time.process_time()
            step(number)
            times[name].append((time.perf_counter() - wall, time.process_time() - processor))
    counted = {name: each[1:] for name, each in times.items()}
    for name, each in counted.items():
        walls, processors = zip(*each, strict=True)
        print(f"{name:10} {median(walls):9.4f} s, processor {median(processors):9.4f} s")
    whole, divided = counted.values()
    pairs = list(zip(whole, divided, strict=True))
    quotients = [median(b[kind] / a[kind] for a, b in pairs) for kind in (0, 1)]
    print(f"{'quotient':10} {quotients[0]:9.3f}    processor {quotients[1]:9.3f}")


def _step(data: NodeData, rows: OwnRows | None, channels: int) -> Callable[[int], object]:
    """What takes one step, by its number."""
    generator = torch.Generator().manual_seed(0)
    model = AKGNN(data.num_features, channels, data.num_classes, generator=generator)
    optimizer = torch.optim.Adam(model.parameters())

    def step(number: int) -> object:
        with nullcontext() if rows is None else rows.active():
            return take_steps(model, data, optimizer, Supervised(), Noise(0, number))

    return step


if __name__ == "__main__":
    main()
