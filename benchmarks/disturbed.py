"""Trainings that are disturbed: what `faults.py` and `fault_hosts.py` have in common."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self, TypeVar

from akgnn.distributed.launch import NO_SHARED_STORE
from akgnn.machine.provenance import run_versions

T = TypeVar("T")
AKGNN = [sys.executable, "-m", "akgnn"]
# How long to wait for anything before giving up; the bar is a minute, but cores may be busy.
PATIENCE = 150.0
# Small, so that the time goes into faults.
SMALL = ["--set", "hidden_channels=8"]


@dataclass
class Fault:
    """One fault, and what came of it.

    Attributes:
        fault: What was done.
        host: To which host, where there are several.
        rank: To which process, where it was one.
        processes: How many there were.
        timeout_s: Seconds of silence after which a process counts as gone.
        noticed_s: Seconds until another process said so, or the starter ended the others.
        named: Whether a line says who is gone, and names no other.
        went_on_s: Seconds until the training was further than before.
        processes_after: How many there were then, where some were gone for good.
        ended_s: Seconds until the processes that could not go on had all ended.
        status: The status with which torchrun then ended.
        same_bits: Whether weights and history were those of a run that nobody disturbed.
        commit: What was run.
    """

    fault: str
    host: str | None = None
    rank: int | None = None
    processes: int = 0
    timeout_s: float = 0.0
    noticed_s: float | None = None
    named: bool = False
    went_on_s: float | None = None
    processes_after: int | None = None
    ended_s: float | None = None
    status: int | None = None
    same_bits: bool | None = None
    commit: str = field(default_factory=lambda: run_versions()["commit"])


class Training:
    """A starter of processes, such as torchrun, and the processes it started.

    Args:
        starter: The command of the starter, up to the words of `akgnn`.
        words: The words of `akgnn train`.
        out: The folder of the run.
        log: Where to put what they say.
        environment: Variables beside those of this process.
    """

    def __init__(
        self,
        starter: Sequence[str],
        words: Sequence[str],
        out: Path,
        log: Path,
        *,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.out, self.log = out, log
        variables = {"OMP_NUM_THREADS": "1", NO_SHARED_STORE: "1", **(environment or {})}
        with log.open("ab") as stream:
            self.agent = subprocess.Popen(
                [*starter, *words, "--out", str(out)],
                env={**os.environ, **variables},
                stdout=subprocess.DEVNULL,
                stderr=stream,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """End the starter and all its processes at once."""
        for process in (self.agent.pid, *self.ranks().values()):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.agent.wait()

    def ranks(self, wanted: int = 0) -> dict[int, int]:
        """The processes that were started, by rank; empty until there are as many as wanted."""
        found: dict[int, int] = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                parent = int(entry.joinpath("stat").read_text().rpartition(")")[2].split()[1])
                words = entry.joinpath("environ").read_bytes().split(b"\0")
            except (OSError, ValueError, IndexError):
                continue
            rank = next((word for word in words if word.startswith(b"RANK=")), None)
            if parent == self.agent.pid and rank is not None:
                found[int(rank[5:])] = int(entry.name)
        return found if len(found) >= wanted else {}

    def epochs(self) -> int:
        """How many epochs the folder of the run has lines of."""
        try:
            return (self.out / "epochs.jsonl").read_bytes().count(b"\n")
        except OSError:
            return 0

    def lines_of_loss(self, start: int) -> list[set[int]]:
        """The processes that lines of the log, from this byte on, say are gone."""
        text = self.log.read_bytes()[start:].decode(errors="replace")
        lines = re.findall(r"akgnn: Process(?:es)? ([\d, ]+) (?:is|are) gone", text)
        return [{int(rank) for rank in line.split(",")} for line in lines]

    def wait(self, done: Callable[[], T], what: str) -> T:
        """Wait until something is so, or the training has ended."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            value = done()
            if value or self.agent.poll() is not None:
                return value
            time.sleep(0.02)
        raise SystemExit(f"Waited {PATIENCE:.0f} s until {what}.\n{self.tail()}")

    def tail(self) -> str:
        """The last lines that were said."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])


def watch(training: Training, fault: Fault, gone: set[int], processes: set[int]) -> None:
    """Wait until a fault that was just caused is noticed, and until the training goes on.

    Args:
        training: One that survives.
        fault: Filled in.
        gone: The ranks that are gone.
        processes: Those that the starter has to end.
    """
    start, before, said = time.monotonic(), training.epochs(), training.log.stat().st_size

    def noticed() -> bool:
        lines = training.lines_of_loss(said)
        fault.named = fault.named or any(line and line <= gone for line in lines)
        return bool(lines) or not processes & set(training.ranks().values())

    training.wait(noticed, "the fault was noticed")
    fault.noticed_s = round(time.monotonic() - start, 2)
    training.wait(lambda: training.epochs() > before, "the training went on")
    fault.went_on_s = round(time.monotonic() - start, 2)
    noticed()


def is_running(process: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def cut(parts: Path) -> None:
    """Write Cora in twelve parts."""
    words = ["--dataset", "cora", "--parts", "12", "--cut", "hash", "--out", str(parts)]
    subprocess.run([*AKGNN, "partition", *words], check=True, stdout=subprocess.DEVNULL)


def words_of(parts: Path, epochs: int) -> list[str]:
    """The words of `akgnn train` for so many epochs."""
    number = ["--set", f"epochs={epochs}", "--set", f"patience={epochs}"]
    return ["train", "--parts", str(parts), *number, *SMALL]


def undisturbed(parts: Path, epochs: int, out: Path) -> str:
    """The bits of a training in one process that nobody disturbs."""
    command = [*AKGNN, *words_of(parts, epochs), "--out", str(out)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return bits(out)


def bits(run: Path) -> str:
    """A digest of the weights and the history."""
    try:
        digest = hashlib.sha256((run / "weights.safetensors").read_bytes())
        digest.update((run / "epochs.jsonl").read_bytes())
    except OSError as error:
        return f"none: {error}"
    return digest.hexdigest()


def record(faults: Iterable[Fault], file: Path | None) -> None:
    """Print faults by kind, and add them to a file."""
    faults = list(faults)
    for kind in dict.fromkeys(fault.fault for fault in faults):
        rows = [fault for fault in faults if fault.fault == kind]
        named = sum(fault.named for fault in rows)
        same = sum(bool(fault.same_bits) for fault in rows)
        print(f"{len(rows)} × {kind}: {same} with the same bits, {named} named")
        for name in ("noticed_s", "went_on_s"):
            times = sorted(t for fault in rows if (t := getattr(fault, name)) is not None)
            if times:
                print(f"  {name}: median {times[len(times) // 2]:.1f}, at most {times[-1]:.1f}")
    if file is not None:
        with file.open("a") as stream:
            for fault in faults:
                known = {name: value for name, value in asdict(fault).items() if value is not None}
                stream.write(json.dumps(known) + "\n")
