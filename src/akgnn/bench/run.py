"""A benchmark under way: case after case, and the record of what is measured so far."""

import gc
import os
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import torch

from akgnn.bench.peers import has_pyg
from akgnn.bench.record import BenchRecord, Case
from akgnn.training.provenance import environment, run_versions

_CPUINFO = Path("/proc/cpuinfo")


class Plan(Protocol):
    """A case before it is measured."""

    @property
    def title(self) -> str:
        """What will be measured."""

    def measure(self, repetitions: int, device: torch.device) -> Case:
        """Measure it; what goes wrong becomes part of the case."""


class Run:
    """A benchmark that is under way, with the record of what is measured so far.

    Args:
        repetitions: Samples of every task.
        device: Where to compute.
    """

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
    """The processor's name, as far as the system tells."""
    try:
        lines = _CPUINFO.read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names and names[0] else "CPU"
