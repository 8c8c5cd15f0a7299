"""What an epoch costs over the number of layers and over the width: AKGNN beside other models.

    python benchmarks/cost.py --out results/cost.jsonl [--repeats 5] [--threads 2]

An epoch is a step of training and a look at validation on PubMed, as `akgnn train` does it. First
the number of layers varies at 64 channels, then the width at five layers. All cases take turns, so
that whatever else the machine does concerns them alike; a repetition is the median of some epochs.
A line has the milliseconds of every repetition, the number of parameters, and the load of the
machine at the beginning, which should be near 0. A second run replaces the file.
"""

import argparse
import itertools
import json
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from akgnn.data.node_data import NodeData
from akgnn.machine.provenance import environment, run_versions
from akgnn.runs.jobs import Job, run_job
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.session import Session
from akgnn.training.callbacks import Callback, Epoch
from akgnn.training.state import Stopwatch

_GRAPH = "pubmed"
_MODELS = ("akgnn", "gcn", "appnp", "jknet")
_LAYERS, _WIDTH = (2, 5, 10, 20), 64
_WIDTHS, _DEPTH = (16, 64, 256), 5
# The first epochs prepare what later ones use.
_EPOCHS, _FIRST = 9, 3


class _Times(Callback):
    """The seconds of each epoch."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._watch = Stopwatch()

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        """Read the watch."""
        self.seconds.append(self._watch.lap())


def plan_of(model: str, layers: int, width: int) -> RunPlan:
    """A model of that depth and width, with its published settings else."""
    sizes = {"num_layers": layers, "hidden_channels": width, "epochs": _EPOCHS}
    return RunPlan.make(RunSettings(dataset=_GRAPH, model=model), sizes)


def milliseconds(plan: RunPlan, data: NodeData) -> float:
    """The median time of an epoch."""
    times = _Times()
    run_job(Job(plan), data, Session(callbacks=[times]))
    return 1000 * statistics.median(times.seconds[_FIRST:])


def main() -> None:
    """Measure all cases in turns, and print a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    load = os.getloadavg()[0]
    sizes = [*((k, _WIDTH) for k in _LAYERS), *((_DEPTH, width) for width in _WIDTHS)]
    cases = [(model, *size) for model, size in itertools.product(_MODELS, dict.fromkeys(sizes))]
    plans = {case: plan_of(*case) for case in cases}
    data = next(iter(plans.values())).load()
    times: dict[Any, list[float]] = {case: [] for case in cases}
    for _ in range(asked.repeats):
        for case, plan in plans.items():
            times[case].append(milliseconds(plan, data))
    lines = []
    for model, layers, width in cases:
        plan, found = plans[model, layers, width], times[model, layers, width]
        count = sum(parameter.numel() for parameter in plan.build(data).parameters())
        line = {
            "dataset": _GRAPH,
            "model": model,
            "num_layers": layers,
            "hidden_channels": width,
            "milliseconds": [round(value, 3) for value in found],
            "parameters": count,
            "load": round(load, 2),
            "environment": environment("cpu"),
            "versions": run_versions(),
        }
        lines.append(json.dumps(line))
        median = statistics.median(found)
        print(f"{model:8} K {layers:2}, {width:3} channels: {median:7.1f} ms, {count:,} parameters")
    asked.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
