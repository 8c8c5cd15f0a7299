"""Many seeds at once against one after the other: time, and whether each seed ends the same.

    python benchmarks/seeds.py [--dataset cora] [--model akgnn] [--seeds 20] [--device auto]

Both ways train to the end, in this process and with all its threads.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import torch

from akgnn.cli.show import print_json
from akgnn.machine.device import choose_device, keep_freed_memory
from akgnn.runs.jobs import Job, jobs_of, run_job, run_jobs
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.run import Run
from akgnn.training.batched.fit_many import runs_at_once


def measure(plans: list[RunPlan], device: torch.device, data_root: Path | None) -> dict[str, Any]:
    """Seconds and test accuracies of both ways."""
    data = plans[0].load(data_root).to(device)
    keep_freed_memory()
    # Once before the clock runs: the first run of a process loads libraries.
    run_job(Job(RunPlan.make(plans[0].run, {"epochs": 2})), data)
    started = time.perf_counter()
    beside = run_jobs(jobs_of(plans), data)
    middle = time.perf_counter()
    alone = [run_job(Job(plan), data) for plan in plans]
    ended = time.perf_counter()
    scores = {
        way: [run.result.test_accuracy for run in runs if isinstance(run, Run)]
        for way, runs in (("at once", beside), ("one after the other", alone))
    }
    return {
        "seconds": {"at once": middle - started, "one after the other": ended - middle},
        "ratio": (middle - started) / (ended - middle),
        "test accuracy": scores,
        "side by side": runs_at_once(plans[0].build(data), data, plans[0].strategy()),
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
