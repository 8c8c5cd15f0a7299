"""Training alone and beside busy programs, by how OpenMP's threads wait for work.

    python benchmarks/busy.py [--repeats 5] [--programs 2] [--epochs 100] [--dataset cora]

Threads that spin while they wait keep a core from whoever has work, the others of the same training
included. Each way to wait is timed as `akgnn train`, from start to end. The ways take turns, so
that whatever else the machine does concerns all alike.

Shown are medians in seconds, the ratio of each to the first, which is how libgomp waits by itself,
and the load of the machine at the beginning.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from akgnn.cli.show import print_json

# 300,000 rounds are what libgomp spins where nothing is set.
WAYS = {
    "spins 300000": {"GOMP_SPINCOUNT": "300000"},
    "spins 10000": {"GOMP_SPINCOUNT": "10000"},
    "spins 1000": {"GOMP_SPINCOUNT": "1000"},
    "passive": {"OMP_WAIT_POLICY": "PASSIVE"},
}
_NAMES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


def seconds(command: list[str], way: str) -> float:
    """Time of one training."""
    environment = {name: value for name, value in os.environ.items() if name not in _NAMES}
    started = time.perf_counter()
    subprocess.run(command, env=environment | WAYS[way], check=True, capture_output=True)
    return time.perf_counter() - started


@contextmanager
def busy_programs(number: int) -> Iterator[None]:
    """Inside, so many programs compute without end."""
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--programs", type=int, default=2)
    options = parser.parse_args()
    limits = [f"--set={name}={options.epochs}" for name in ("epochs", "patience")]
    command = [sys.executable, "-m", "akgnn", "train", "--dataset", options.dataset, *limits]
    load = [round(value, 2) for value in os.getloadavg()]
    result: dict[str, object] = {"load": load, "cores": os.cpu_count()}
    for name, number in (("alone", 0), (f"beside {options.programs}", options.programs)):
        times: dict[str, list[float]] = {way: [] for way in WAYS}
        with busy_programs(number):
            for _ in range(options.repeats):
                for way, measured in times.items():
                    measured.append(seconds(command, way))
        medians = {way: statistics.median(measured) for way, measured in times.items()}
        first = next(iter(medians.values()))
        result[name] = {
            way: {"seconds": round(median, 2), "ratio": round(median / first, 2)}
            for way, median in medians.items()
        }
    print_json(result)


if __name__ == "__main__":
    main()
