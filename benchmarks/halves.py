"""Which settings validation prefers on a small graph, by nodes that did not choose the epoch.

    python benchmarks/halves.py LINES.jsonl --dataset cornell [--splits 10] [--seeds 2]
                                [--members 1] [--device cuda] [--jobs 16] [--out FOUND.jsonl]

A line of the file names a `model` and a `preset`, and has settings to change under `set`. On every
split the validation nodes are halved: one half chooses the epoch, the other is scored, then the
other way round. Test nodes are not among the data. So a setting gains nothing from scores that go
up and down by the epoch, the best of which would count otherwise. Of each line there is one of the
same with the mean accuracy and log loss of the halves that were scored, as soon as it is known.
With `--members 10` each seed is an ensemble of ten.

Test nodes of one published split are validation nodes of others, as they are for all who choose one
setting for all splits.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split
from akgnn.experiments.workers import Death, cores, share_out
from akgnn.runs.jobs import Job, run_jobs
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.run import Run

Task = tuple[int, int]
"""A line, and the number of a split."""


def halves(split: Split, seed: int) -> list[Split]:
    """Two splits that train on the same nodes: each validates on what the other tests."""
    generator = torch.Generator().manual_seed(seed)
    order = split.val[torch.randperm(len(split.val), generator=generator).to(split.val.device)]
    one, other = (half.sort().values for half in (order[::2], order[1::2]))
    return [
        replace(split, name=f"{split.name}, halved", val=val, test=test)
        for val, test in ((one, other), (other, one))
    ]


def plan_of(line: Mapping[str, Any], dataset: str, number: int, members: int = 1) -> RunPlan:
    """The plan of a line on a split, with the first of its seeds."""
    split = {"split": f"public-{number}", "seed": 1000 * number, "ensemble": members}
    run = RunSettings(dataset=dataset, model=line["model"], preset=line["preset"], **split)
    return RunPlan.make(run, line["set"])


@lru_cache(maxsize=16)
def _data(dataset: str, number: int, root: str | None, device: str) -> NodeData:
    line = {"model": "akgnn", "preset": "any-graph", "set": {}}
    return plan_of(line, dataset, number).load(root, device)


def scores_of(
    task: Task,
    lines: Sequence[Mapping[str, Any]],
    dataset: str,
    seeds: int,
    members: int,
    root: str | None,
    device: str,
) -> list[tuple[float, float, int]]:
    """Accuracy and log loss of the half that is scored, and the best epoch, of every run."""
    index, number = task
    data = _data(dataset, number, root, device)
    plan = plan_of(lines[index], dataset, number, members)
    plans = [plan.with_seed(plan.run.seed + members * seed) for seed in range(seeds)]
    jobs = [Job(plan, split=split) for split in halves(data.split, number) for plan in plans]
    outcomes = run_jobs(jobs, data)
    results = [outcome.result for outcome in outcomes if isinstance(outcome, Run)]
    return [
        (result.test_accuracy, result.scores["test_log_loss"], result.best_epoch)
        for result in results
    ]


def main() -> int:
    """Score every line of the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("lines", type=Path)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=cores())
    parser.add_argument("--data-root")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    lines = [json.loads(line) for line in asked.lines.read_text("utf-8").splitlines()]
    lines = [{"set": {}, **line} for line in lines]
    tasks = [(index, number) for index in range(len(lines)) for number in range(asked.splits)]
    work = partial(
        scores_of,
        lines=lines,
        dataset=asked.dataset,
        seeds=asked.seeds,
        members=asked.members,
        root=asked.data_root,
        device=asked.device,
    )
    found: dict[int, list[list[tuple[float, float, int]]]] = defaultdict(list)
    with asked.out.open("w", encoding="utf-8") if asked.out else nullcontext(sys.stdout) as file:
        for (index, number), scores in share_out(work, tasks, asked.jobs):
            if isinstance(scores, Death):
                raise SystemExit(f"Line {index + 1}, split {number}: {scores.reason}")
            found[index].append(scores)
            if len(found[index]) < asked.splits:
                continue
            runs = [run for split in found[index] for run in split]
            accuracy, log_loss, epoch = (fmean(column) for column in zip(*runs, strict=True))
            about = {name: lines[index][name] for name in ("model", "preset", "set")}
            result = {
                "dataset": asked.dataset,
                **about,
                "splits": asked.splits,
                "seeds": asked.seeds,
                **({"members": asked.members} if asked.members > 1 else {}),
                "runs": len(runs),
                "held_accuracy": round(accuracy, 2),
                "held_log_loss": round(log_loss, 4),
                "best_epoch": round(epoch),
            }
            print(json.dumps(result), file=file, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
