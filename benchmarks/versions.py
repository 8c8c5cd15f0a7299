"""Start-up, epochs and memory of two versions of the code, side by side in one run.

    python benchmarks/versions.py ../before/src src [--repetitions 7] [--epochs-only]

The versions take turns, so that whatever else the machine does concerns both alike. Shown are the
medians; the median of the ratios of the second to the first, turn by turn; and an interval that
holds the median of all such ratios in at least 95 of 100 such runs, whatever their distribution. It
takes six turns or more to have one.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from scipy.stats import binom

# Trains some epochs and prints the seconds of one, and the most memory of the process in MiB.
EPOCHS = """
import json, resource, sys, time
from akgnn import AKGNN, TrainSettings, fit, load_dataset
data = load_dataset(sys.argv[1])
model = AKGNN(data.num_features, 64, data.num_classes)
fit(model, data, TrainSettings(epochs=5))
start = time.perf_counter()
fit(model, data, TrainSettings(epochs=40, patience=40))
seconds = (time.perf_counter() - start) / 40
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def run(src: Path, *arguments: str) -> tuple[float, str]:
    """Seconds and output of a Python process with this version of the code."""
    environment = {**os.environ, "PYTHONPATH": str(src.resolve())}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return time.perf_counter() - start, done.stdout


def measured(src: Path, *, epochs_only: bool) -> dict[str, float]:
    """One sample of every measure."""
    sample = {}
    if not epochs_only:
        sample["import akgnn, s"] = run(src, "-c", "import akgnn")[0]
        sample["akgnn --help, s"] = run(src, "-m", "akgnn", "--help")[0]
        command = ("-m", "akgnn", "train", "--device", "cpu", "--set", "epochs=1")
        sample["akgnn train of one epoch, s"] = run(src, *command)[0]
    for dataset in ("cora", "pubmed"):
        seconds, memory = json.loads(run(src, "-c", EPOCHS, dataset)[1])
        sample[f"epoch, {dataset}, ms"] = 1000 * seconds
        sample[f"memory, {dataset}, MiB"] = memory
    return sample


def interval(ratios: Sequence[float]) -> str:
    """Of the median, from the ratios in order: so many of them lie below it by a fair coin."""
    number = len(ratios)
    outside = int(binom.ppf(0.025, number, 0.5))
    if outside == 0:
        return "-"
    ordered = sorted(ratios)
    return f"{ordered[outside - 1]:.2f} to {ordered[number - outside]:.2f}"


def main() -> None:
    """Measure both versions in turn, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--epochs-only", action="store_true")
    given = parser.parse_args()
    samples: list[list[dict[str, float]]] = [[], []]
    for number in range(given.repetitions):
        # In the other order every second time.
        order = (0, 1) if number % 2 == 0 else (1, 0)
        for version in order:
            src = (given.first, given.second)[version]
            samples[version].append(measured(src, epochs_only=given.epochs_only))
    for name in samples[0][0]:
        one, other = (statistics.median(each[name] for each in kind) for kind in samples)
        pairs = zip(*samples, strict=True)
        ratios = [second[name] / first[name] for first, second in pairs]
        middle = statistics.median(ratios)
        print(f"{name:36}{one:10.3f}{other:10.3f}{middle:8.3f}   {interval(ratios)}")


if __name__ == "__main__":
    main()
