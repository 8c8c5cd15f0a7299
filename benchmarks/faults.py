"""Kill and stop processes of a training at random, and see whether it ends in the same bits.

    python benchmarks/faults.py [--parts FOLDER] [--processes 4] [--kills 15] [--starts 0]
        [--checkpoints 5] [--stops 5] [--timeout 10] [--seed 0] [--record results/faults.jsonl]

A graph in parts is trained without faults in one process, and then in several, started as by
`--processes`, of which one at a time gets a signal: SIGKILL at a random moment of the training
(`--kills`), of the start (`--starts`), or while the first process has written a file of the state
and not yet given it its name (`--checkpoints`); or SIGSTOP (`--stops`). Any rank is hit as often as
another. Shown are the
seconds until the fault was noticed and until the training was further than before, and at the end
whether weights and history have the bits of the undisturbed run. Its status is 1 where they do not.

    python benchmarks/faults.py --resume

trains on four processes, stops them by SIGTERM, and goes on with three, two and one.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from disturbed import (
    AKGNN,
    Fault,
    Training,
    bits,
    cut,
    is_running,
    record,
    undisturbed,
    watch,
    words_of,
)

KILL, START, CHECKPOINT, STOP = (
    "SIGKILL", "SIGKILL at the start", "SIGKILL inside a checkpoint", "SIGSTOP",
)  # fmt: skip


# `--processes` starts processes again three times.
OFTEN = """
import sys
from akgnn.distributed.start import run_processes
say = lambda line: print("akgnn:", line, file=sys.stderr, flush=True)
processes, restarts, *words = sys.argv[1:]
sys.exit(run_processes(int(processes), words, again=["--resume"], restarts=int(restarts), say=say))
"""


def main() -> int:
    """Train with and without faults, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--parts", type=Path)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--kills", type=int, default=15)
    parser.add_argument("--starts", type=int, default=0)
    parser.add_argument("--checkpoints", type=int, default=5)
    parser.add_argument("--stops", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--record", type=Path)
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        place = Path(folder)
        parts = asked.parts or place / "parts"
        if asked.parts is None:
            cut(parts)
        faults = _resumed(parts, place) if asked.resume else _disturbed(parts, place, asked)
    record(faults, asked.record)
    return 0 if faults and all(fault.same_bits for fault in faults) else 1


def _disturbed(parts: Path, place: Path, asked: argparse.Namespace) -> list[Fault]:
    """Train while faults come."""
    numbers = {
        KILL: asked.kills,
        START: asked.starts,
        CHECKPOINT: asked.checkpoints,
        STOP: asked.stops,
    }
    kinds = [kind for kind, number in numbers.items() for _ in range(number)]
    chance = random.Random(asked.seed)
    chance.shuffle(kinds)
    # Enough for all: an epoch of several processes takes some hundredths of a second.
    epochs = 40 + 30 * len(kinds)
    expected = undisturbed(parts, epochs, place / "alone")
    out, log = place / "disturbed", place / "log"
    # On a busy machine a start may outlast the time-out, and is tried again.
    starter = [sys.executable, "-c", OFTEN, str(asked.processes), str(3 * len(kinds) + 5)]
    often = ["--timeout", str(asked.timeout), "--checkpoint-seconds", "0"]
    faults = []
    with Training(starter, [*words_of(parts, epochs), *often], out, log) as training:
        for kind in kinds:
            fault = _cause(kind, training, chance, asked)
            if fault is None:
                print(f"The training ended before {kind}.")
                break
            print(fault, flush=True)
            faults.append(fault)
        status = training.agent.wait()
    is_same = status == 0 and bits(out) == expected
    if not is_same:
        print(f"Status {status}.\n{training.tail()}")
    for fault in faults:
        fault.same_bits = is_same
    return faults


def _cause(
    kind: str, training: Training, chance: random.Random, asked: argparse.Namespace
) -> Fault | None:
    """One fault, from its cause to its end; None where the training has ended before."""
    number = asked.processes
    ranks = training.wait(lambda: training.ranks(number), "all processes were there")
    if kind == START:
        time.sleep(chance.uniform(0.0, 4.0))
    else:
        first = training.epochs()
        training.wait(lambda: training.epochs() > first + 2, "epochs were trained")
        time.sleep(chance.uniform(0.0, 1.5))
    rank = 0 if kind == CHECKPOINT else chance.randrange(number)
    ending = chance.choice([".safetensors", ".json"])
    while kind == CHECKPOINT and training.agent.poll() is None:
        if any(name.startswith(".tmp-") and name.endswith(ending) for name in _names(training)):
            break
    if training.agent.poll() is not None:
        return None
    os.kill(ranks[rank], signal.SIGSTOP if kind == STOP else signal.SIGKILL)
    if kind == CHECKPOINT and not _left_temporary(training, ranks[rank]):
        kind = KILL
    fault = Fault(kind, rank=rank, processes=number, timeout_s=asked.timeout)
    watch(training, fault, {rank}, set(ranks.values()))
    return fault


def _left_temporary(training: Training, process: int) -> bool:
    """Whether a process that was killed is dead and has left a file that was not yet renamed."""
    while is_running(process):
        time.sleep(0.001)
    return any(name.startswith(".tmp-") for name in _names(training))


def _names(training: Training) -> list[str]:
    try:
        return os.listdir(training.out)
    except OSError:
        return []


def _resumed(parts: Path, place: Path) -> list[Fault]:
    """Stop a training on four processes, go on with fewer, and stop again."""
    epochs, faults = 240, []
    expected = undisturbed(parts, epochs, place / "alone")
    out = place / "resumed"
    words = [*AKGNN, *words_of(parts, epochs), "--out", str(out)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for processes, until in ((4, 60), (3, 120), (2, 180), (1, epochs)):
        mesh = ["--processes", str(processes), "--mesh", f"{processes}x1"]
        command = [*words, *mesh, *(["--resume"] if faults else [])]
        start = time.monotonic()
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as run:
            file = out / "epochs.jsonl"
            while run.poll() is None and until < epochs:
                if file.exists() and file.read_bytes().count(b"\n") >= until:
                    run.send_signal(signal.SIGTERM)
                    break
                time.sleep(0.05)
            run.wait()
        seconds = round(time.monotonic() - start, 2)
        kind = "stopped, resumed on fewer" if until < epochs else "resumed to the end"
        faults.append(Fault(kind, processes=processes, went_on_s=seconds))
    for fault in faults:
        fault.same_bits = bits(out) == expected
    return faults


if __name__ == "__main__":
    sys.exit(main())
