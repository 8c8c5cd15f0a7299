"""Measures how much memory training takes at most beside its data; run as a program (Linux).

Reads a JSON list of cases {"dataset", "model", "preset", "changes"} and prints the list of their
peaks in bytes.
"""

import json
import sys
from pathlib import Path

from akgnn.runs.jobs import Job, run_job
from akgnn.runs.plan import RunPlan, RunSettings


def status(field: str) -> int:
    """A size in bytes from the kernel's account of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


def plan_of(case: dict) -> RunPlan:
    run = {name: case[name] for name in ("dataset", "model", "preset") if name in case}
    return RunPlan.make(RunSettings(**run), {**case.get("changes", {}), "epochs": 1})


def peak(case: dict) -> int:
    plan = plan_of(case)
    # What is loaded and kept at the first use of anything does not belong to the run.
    small = plan_of({**case, "dataset": "csbm:num_nodes=100"})
    run_job(Job(small), small.load())
    data = plan.load()
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # starts the count of the peak anew
    run_job(Job(plan), data)
    return status("VmHWM") - before


if __name__ == "__main__":
    print(json.dumps([peak(case) for case in json.loads(sys.argv[1])]))
