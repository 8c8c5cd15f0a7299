"""What processes that train on parts take of the memory, beside what the plan says.

    python benchmarks/parts_memory.py --parts FOLDER [--processes 1 4] [--epochs 3]
                                      [--set NAME=VALUE …]

Each number of processes, one thread each, trains so many epochs with evaluation, as `akgnn train`
does. A process counts from when it has joined the others and has trained on a graph of 100 nodes,
which loads what torch loads late. Counted are its anonymous pages, `RssAnon` of /proc/self/status,
looked at every few milliseconds: what it has to have. All its pages are shown beside them; those of
mapped files the system takes back where memory is short. The plan has them too where it counts
features, of which dense ones are mapped, so it is compared with all pages. Needs Linux.
"""

import argparse
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from akgnn.cli.options import decide_plan
from akgnn.data.look_alike import look_alike
from akgnn.distributed.costs import Memory
from akgnn.distributed.folder import FolderParts, open_parts
from akgnn.distributed.forecast import forecast
from akgnn.distributed.group import Group
from akgnn.distributed.hardware import CPU_CORE
from akgnn.distributed.launch import environment_for, joined
from akgnn.distributed.mesh import MeshShape
from akgnn.distributed.parts import cut_in_memory
from akgnn.distributed.trainer import fit_parts, own_rows
from akgnn.distributed.workload import cut_already
from akgnn.models.adaptive_network import AKGNNSettings
from akgnn.models.akgnn import AKGNN
from akgnn.runs.parted import keep_or_give_back, train_parts
from akgnn.runs.plan import PARTS, RunPlan
from akgnn.training.settings import TrainSettings

MIB = 2**20
# Signals take far longer than this to be written.
SECONDS_BETWEEN_LOOKS = 0.003


def main() -> None:
    """Train with each number of processes, and show what they took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--parts", type=Path, required=True)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], dest="changes")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    parts = open_parts(asked.parts, check=False)
    plan = decide_plan(
        {"dataset": f"{PARTS}{asked.parts.resolve()}", "preset": "paper"},
        {},
        None,
        dict(change.split("=", 1) for change in [*asked.changes, f"epochs={asked.epochs}"]),
    )
    if asked.worker is not None:
        work(plan, parts, asked.worker)
        return
    alone = None
    for number in asked.processes:
        told = planned_memory(plan, parts, number)
        peaks = trained(number, sys.argv[1:])
        alone = peaks[0]["anonymous"] if number == 1 else alone
        print(f"Processes: {number}. The plan says {_text(told.total)}: {_terms(told)}")
        for rank, peak in enumerate(peaks):
            of_one = "" if alone is None else f", {peak['anonymous'] / alone:.3f} of one"
            print(
                f"  process {rank}: {_text(peak['anonymous'])}{of_one}; with mapped files "
                f"{_text(peak['with files'])}, {peak['with files'] / told.total:.2f} of the plan; "
                f"interpreter {_text(peak['before'])}",
                flush=True,
            )


def planned_memory(plan: RunPlan, parts: FolderParts, processes: int) -> Memory:
    """What the plan says of the process with most."""
    settings = plan.preset.model
    assert isinstance(settings, AKGNNSettings)
    work = cut_already(parts, num_layers=settings.num_layers, channels=settings.hidden_channels)
    return forecast(work, MeshShape(processes, 1), CPU_CORE).memory


def trained(processes: int, words: Sequence[str]) -> list[dict[str, int]]:
    """Run this file in so many processes; what each took."""
    start = [sys.executable]
    if processes > 1:
        start += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    with TemporaryDirectory() as folder:
        environment = {**environment_for(processes), "OMP_NUM_THREADS": "1"}
        subprocess.run([*start, __file__, *words, "--worker", folder], env=environment, check=True)
        return [json.loads(file.read_text()) for file in sorted(Path(folder).iterdir())]


def work(plan: RunPlan, parts: FolderParts, folder: Path) -> None:
    """What each process does: train, and note what that took."""
    with joined(torch.device("cpu"), 300.0) as group:
        train_a_little()
        keep_or_give_back(plan, parts, MeshShape(group.size, 1))
        looks = Looks()
        train_parts(plan, parts, None, group, torch.device("cpu"), timeout=300.0)
        peak = looks.ended()
        (folder / f"{group.rank:04}.json").write_text(json.dumps(peak))


def train_a_little() -> None:
    """Let torch load what it loads with the first steps: 75 MiB of modules."""
    data = look_alike(100, 4, 16, 7, None, labelled=14)
    rows = own_rows(cut_in_memory(data, torch.arange(100) // 50), Group())
    fit_parts(AKGNN(16, 64, 7), rows, TrainSettings(epochs=1, patience=1))


class Looks(threading.Thread):
    """Looks at the memory of this process until it is told to end."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._is_over = threading.Event()
        self._before = self._peaks = _memory()
        self.start()

    def run(self) -> None:
        """Look every few milliseconds."""
        while not self._is_over.wait(SECONDS_BETWEEN_LOOKS):
            self._peaks = tuple(map(max, self._peaks, _memory()))

    def ended(self) -> dict[str, int]:
        """The most of anonymous memory and of all beyond what was there before, and that."""
        self._is_over.set()
        self.join()
        most = [peak - before for peak, before in zip(self._peaks, self._before, strict=True)]
        return {"anonymous": most[0], "with files": most[1], "before": self._before[0]}


def _memory() -> tuple[int, ...]:
    """Bytes of anonymous pages, and of all pages, that this process has."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return tuple(1024 * int(fields[name].split()[0]) for name in ("RssAnon", "VmRSS"))


def _text(size: int) -> str:
    return f"{size / MIB:,.0f} MiB"


def _terms(memory: Memory) -> str:
    terms = {name: getattr(memory, name) for name in ("graph", "features", "signals", "halo")}
    return ", ".join(f"{name} {_text(size)}" for name, size in terms.items())


if __name__ == "__main__":
    main()
