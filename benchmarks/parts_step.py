"""A training step of one process on parts of a graph, against the same step on the whole graph.

    python benchmarks/parts_step.py --parts FOLDER [--steps 5] [--hidden-channels 64] [--turns 3]

The graph is put together from the folder that `akgnn partition` wrote, so both train on the same.
Each has processes of its own, as many as there are turns, which do with freed memory what
`akgnn train` does; they take turns, and the first step of each does not count. Shown are the
medians, wall time and processor time, and the quotient of them.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from statistics import median

import torch

from akgnn.cli.options import decide_plan
from akgnn.data.node_data import NodeData
from akgnn.distributed.folder import open_parts
from akgnn.distributed.group import Group
from akgnn.distributed.mesh import MeshShape
from akgnn.distributed.trainer import OwnRows, own_rows
from akgnn.distributed.whole import whole_data
from akgnn.machine.device import keep_freed_memory
from akgnn.models.akgnn import AKGNN
from akgnn.ops.dropout import Noise
from akgnn.runs.parted import keep_or_give_back
from akgnn.runs.plan import PARTS
from akgnn.training.fit import take_steps
from akgnn.training.strategies.supervised import Supervised

Seconds = tuple[float, float]
SIDES = ("whole", "parts")


def main() -> None:
    """Time both in turns."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--parts", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--hidden-channels", type=int, default=64)
    parser.add_argument("--only", choices=SIDES, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only is not None:
        print(json.dumps(_times(asked.only, asked.parts, asked.steps, asked.hidden_channels)))
        return
    times: dict[str, list[Seconds]] = {side: [] for side in SIDES}
    for _ in range(asked.turns):
        for side, taken in times.items():
            words = [sys.executable, __file__, *sys.argv[1:], "--only", side]
            taken += json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)
    medians = {
        side: [median(kind) for kind in zip(*taken, strict=True)] for side, taken in times.items()
    }
    for side, (wall, processor) in medians.items():
        print(f"{side:10} {wall:9.4f} s, processor {processor:9.4f} s")
    wall, processor = (b / a for a, b in zip(*medians.values(), strict=True))
    print(f"{'quotient':10} {wall:9.3f}    processor {processor:9.3f}")


def _times(side: str, folder: Path, steps: int, channels: int) -> list[Seconds]:
    """Wall and processor seconds of each step but the first."""
    parts = open_parts(folder, check=False)
    if side == "whole":
        keep_freed_memory()
        step = _step(whole_data(parts), None, channels)
    else:
        changes = {"hidden_channels": str(channels)}
        run = {"dataset": f"{PARTS}{folder.resolve()}", "preset": "paper"}
        keep_or_give_back(decide_plan(run, {}, None, changes), parts, MeshShape(1, 1))
        rows = own_rows(parts, Group())
        step = _step(rows.data, rows, channels)
    times = []
    for number in range(steps + 1):
        wall, processor = time.perf_counter(), time.process_time()
        step(number)
        times.append((time.perf_counter() - wall, time.process_time() - processor))
    return times[1:]


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
