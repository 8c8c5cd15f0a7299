"""Many seeds at once against one after the other: time, and whether each seed ends the same.

    python benchmarks/seeds.py [--dataset cora] [--model akgnn] [--seeds 20] [--device auto]

Both ways train to the end, in this process and with all its threads.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import torch

from akgnn.cli.output import print_json
from akgnn.training.allocator import keep_freed_memory
from akgnn.training.device import choose_device
from akgnn.training.many import most_at_once
from akgnn.training.plan import RunPlan, RunSettings
from akgnn.training.run import RunResult
from akgnn.training.train_runs import train_run, train_runs


def measure(plans: list[RunPlan], device: torch.device, data_root: Path | None) -> dict[str, Any]:
    """Seconds and test accuracies of both ways."""
    data = plans[0].load(data_root).to(device)
    keep_freed_memory()
    # Once before the clock runs: the first run of a process loads libraries.
    train_run(RunPlan.make(plans[0].which, {"epochs": 2}), data)
    started = time.perf_counter()
    beside = train_runs(plans, data)
    middle = time.perf_counter()
    alone = [train_run(plan, data) for plan in plans]
    ended = time.perf_counter()
    scores = {
        way: [run.fit.test_accuracy for run in runs if isinstance(run, RunResult)]
        for way, runs in (("at once", beside), ("one after the other", alone))
    }
    return {
        "seconds": {"at once": middle - started, "one after the other": ended - middle},
        "ratio": (middle - started) / (ended - middle),
        "test accuracy": scores,
        "side by side": most_at_once(plans[0].build(data), data, plans[0].strategy()),
        "threads": torch.get_num_threads(),
        "device": str(device),
    }


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--model", default="akgnn")
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--data-root", type=Path)
    options = parser.parse_args()
    which = RunSettings(dataset=options.dataset, model=options.model, preset=options.preset)
    plans = [RunPlan.make(which).with_seed(seed) for seed in range(options.seeds)]
    print_json(measure(plans, choose_device(options.device), options.data_root))


if __name__ == "__main__":
    main()
