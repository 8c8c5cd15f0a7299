"""A benchmark: which cases it has, and the record of what is measured so far."""

import gc
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import product
from pathlib import Path

import torch

from akgnn.bench.cases import DATASETS, EpochPlan, LayerPlan
from akgnn.bench.graphs import GRAPHS
from akgnn.bench.peers import has_pyg
from akgnn.bench.record import BenchRecord, Case, Suite
from akgnn.machine.provenance import environment, run_versions

SUITES = ("layer", "epoch", "growth")
DTYPES = ("float32", "bfloat16", "float16", "float64")
# Four orders of magnitude.
_GROWTH_EDGES = tuple(10**power for power in range(4, 9))
_CPUINFO = Path("/proc/cpuinfo")

Plan = LayerPlan | EpochPlan


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What was asked for of the random graphs and their signals; None for the suite's own.

    `edges` counts both directions; `degrees` are kinds of graph.
    """

    edges: Sequence[int] | None = None
    mean_degree: int | None = None
    degrees: Sequence[str] | None = None
    channels: int = 64
    dtypes: Sequence[str] = ("float32",)


def plans_of(suites: Sequence[str], sizes: Sizes) -> list[Plan]:
    """The cases of some suites, in the order of `SUITES`."""
    plans: list[Plan] = []
    if "layer" in suites:
        plans += _layers(sizes, "layer", edges=(2_000_000,), mean_degree=10, degrees=tuple(GRAPHS))
    if "epoch" in suites:
        plans += [EpochPlan(dataset) for dataset in DATASETS]
    if "growth" in suites:
        plans += _layers(sizes, "growth", edges=_GROWTH_EDGES, mean_degree=20, degrees=("even",))
    return plans


def _layers(
    sizes: Sizes, suite: Suite, *, edges: Sequence[int], mean_degree: int, degrees: Sequence[str]
) -> list[LayerPlan]:
    cases = product(sizes.degrees or degrees, sizes.dtypes, sizes.edges or edges)
    return [
        LayerPlan(
            graph=kind,
            num_edges=number,
            mean_degree=mean_degree if sizes.mean_degree is None else sizes.mean_degree,
            channels=sizes.channels,
            dtype=dtype,
            suite=suite,
        )
        for kind, dtype, number in cases
    ]


class Run:
    """A benchmark that is under way, with the record of what is measured so far."""

    def __init__(self, repetitions: int, device: torch.device) -> None:
        self.repetitions = repetitions
        self.device = device
        self.began = datetime.now(UTC).isoformat(timespec="seconds")
        self.cases: list[Case] = []

    def measure(self, plan: Plan) -> Case:
        """Measure one more case."""
        # What earlier cases left behind would count as this one's memory.
        gc.collect()
        case = plan.measure(self.repetitions, self.device)
        self.cases.append(case)
        return case

    @property
    def record(self) -> BenchRecord:
        """Of what is measured so far."""
        pyg = {"torch_geometric": version("torch_geometric")} if has_pyg() else {}
        machine = {
            **environment(str(self.device)),
            "processor": _processor(),
            "cores": os.cpu_count() or 1,
            "began": self.began,
        }
        return BenchRecord({**run_versions(), **pyg}, machine, self.repetitions, tuple(self.cases))


def _processor() -> str:
    """The name of the CPU, as far as the system tells."""
    try:
        lines = _CPUINFO.read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names and names[0] else "CPU"
