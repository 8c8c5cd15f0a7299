"""What the default is worth: presets that vote, beside the best of them alone, split by split.

    python benchmarks/votes.py train votes.npz texas/10 photo/6 [--device cuda] [--jobs 16]
        [--repeats 3] [--first 0] [--tried NAME …]
    python benchmarks/votes.py vote votes.npz --out results/votes.jsonl [--tried NAME …]

The first line trains, on the first so many splits of each graph, every preset that `akgnn train`
tries where nobody names one, as it does, with as many seeds, and keeps class scores of validation
and test nodes in a file. Graphs are those of `akgnn reproduce medium` and `elsewhere`, with their
splits; the seeds of split i begin at 100 i, a repetition later at 100 i + 10. `--labels few` takes
the splits with few labels on which the number of seeds was chosen.

The second line lets them vote by `akgnn.runs.vote`. Shares and calibrations come from validation
nodes alone; so does the choice of the best. It writes a line a split and repetition: scores of each
preset, a seed alone on average, of the best and of the vote on the test nodes; and by bin of the
probability of the predicted class, how much these probabilities add up to above the nodes that were
right, and the variance that this sum would have if the probabilities were true. So test nodes of
several splits can be looked at together: a split of Texas tests 37 nodes, and so few of them are
off by about 10 % in bins however true the probabilities are. `--seeds` lets fewer seeds vote than
the file has. `--tried` names who is trained or votes, in place of those of `akgnn train`.
"""

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from torch import Tensor

from akgnn.data.published import PYG_SOURCES, load_pyg
from akgnn.experiments.workers import Death, share_out
from akgnn.machine.provenance import run_versions
from akgnn.runs.choice import seeds_to_vote
from akgnn.runs.jobs import jobs_of, run_jobs
from akgnn.runs.plan import FOR_ANY_GRAPH, NO_LINKS, RunPlan, RunSettings
from akgnn.runs.vote import vote_weights
from akgnn.training.calibration import DOUBTFUL_NODES, calibration_of
from akgnn.training.fit import predict_logits
from akgnn.training.metrics import METRICS, sums_by_bin

Task = tuple[str, int, int, str]
"""A graph, the number of its split, that of the repetition, and a preset."""

# Other graphs have published splits by number; of these one alone, or none.
_SPLITS = {"photo": "public", "physics": "public"}
_DRAWN = dict.fromkeys(("cora", "citeseer", "pubmed", "cora-ml"), "60/20/20")
# About 90 training and 60 validation nodes.
_FEW = {
    "cora": "3/2/95",
    "citeseer": "3/2/95",
    "cora-ml": "3/2/95",
    "chameleon-filtered": "10/7/83",
    "squirrel-filtered": "4/3/93",
}
# Of those that are left then, so many test nodes are looked at.
_MOST_TESTED = 1500
_PRESETS = {
    **{preset: ("akgnn", preset) for preset in FOR_ANY_GRAPH},
    "mlp": NO_LINKS,
    # What it was before.
    "mlp, any-graph": ("mlp", "any-graph"),
}
_TRIED = tuple(_PRESETS)[:-1]


def plan_of(graph: str, number: int, repeat: int, name: str, *, few: bool) -> RunPlan:
    """The plan of a preset on a split."""
    drawn = (_FEW if few else _DRAWN).get(graph)
    model, preset = _PRESETS[name]
    return RunPlan.make(
        RunSettings(
            dataset=graph,
            split=drawn or _SPLITS.get(graph, f"public-{number}"),
            split_seed=0 if drawn is None else number,
            seed=100 * number + 10 * repeat,
            model=model,
            preset=preset,
        )
    )


@lru_cache(maxsize=4)
def _data(graph: str, number: int, few: bool, root: str | None, device: str) -> Any:
    return plan_of(graph, number, 0, FOR_ANY_GRAPH[0], few=few).load(root, device)


def scores_of(task: Task, few: bool, root: str | None, device: str) -> dict[str, Any]:
    """Class scores of the validation and test nodes after training, of every seed."""
    graph, number, repeat, _ = task
    data = _data(graph, number, few, root, device)
    plan = plan_of(*task, few=few)
    plans = [plan.with_seed(plan.run.seed + seed) for seed in range(seeds_to_vote(data))]
    models = [run.model.to(device) for run in run_jobs(jobs_of(plans), data)]
    logits, split = torch.stack([predict_logits(model, data) for model in models]), data.split
    order = torch.randperm(len(split.test), generator=torch.Generator().manual_seed(number))
    test = split.test[order[:_MOST_TESTED].to(split.test.device)] if few else split.test
    found = {}
    for part, nodes in (("val", split.val), ("test", test)):
        found["|".join(map(str, (*task, part)))] = logits[:, nodes].half().cpu().numpy()
        found[f"{graph}|{number}|{repeat}|{part}"] = data.y[nodes].cpu().numpy().astype(np.int16)
    return found


def train(
    asked: list[str],
    file: Path,
    root: str | None,
    device: str,
    jobs: int,
    repeats: range,
    tried: Sequence[str],
    few: bool,
) -> None:
    """Train every preset on every split."""
    pairs = [(name, int(splits)) for name, _, splits in (each.partition("/") for each in asked)]
    # Twenty blocks take longest.
    tasks = [
        (graph, number, repeat, preset)
        for preset in sorted(tried, key=list(_PRESETS).index, reverse=True)
        for graph, splits in pairs
        for number in range(splits)
        for repeat in repeats
    ]
    for graph in {graph for graph, _ in pairs} & set(PYG_SOURCES):
        load_pyg(graph, root)
    kept: dict[str, Any] = {}
    work = partial(scores_of, few=few, root=root, device=device)
    for task, found in share_out(work, tasks, jobs):
        if isinstance(found, Death):
            raise RuntimeError(f"{task}: {found.reason}")
        kept |= found
    np.savez_compressed(file, **kept)


def results_of(
    kept: Any, tried: Sequence[str], seeds: int | None = None
) -> Iterator[dict[str, Any]]:
    """A line for each split and repetition in the file, of so many seeds; of all if not given."""
    for graph, number, repeat in sorted({tuple(name.split("|")[:3]) for name in kept}):
        name = f"{graph}|{number}|{repeat}"
        y = {part: torch.from_numpy(kept[f"{name}|{part}"]).long() for part in _PARTS}
        said = {
            preset: _calibrated(
                {
                    part: torch.from_numpy(kept[f"{name}|{preset}|{part}"][:seeds]).float()
                    for part in _PARTS
                },
                y["val"],
            )
            for preset in tried
        }
        # Seeds of a preset speak as one.
        voices = {
            preset: {part: _log_mean(each[part]) for part in _PARTS}
            for preset, each in said.items()
        }
        weights = vote_weights([voice["val"] for voice in voices.values()], y["val"])
        together = {
            part: torch.stack(
                [w * v[part].exp() for w, v in zip(weights, voices.values(), strict=True)]
            ).sum(0).log()
            for part in _PARTS
        }  # fmt: skip
        again = calibration_of(together["val"], y["val"], doubtful=DOUBTFUL_NODES)
        metric = "roc_auc" if graph == "minesweeper" else "accuracy"
        by = "roc_auc" if graph == "minesweeper" else "log_loss"
        sign = 1 if METRICS[by].lower_is_better else -1
        best = min(said, key=lambda name: sign * _mean(by, said[name]["val"], y["val"]))
        test = again.scaled(together["test"]).log_softmax(1)
        probability, predicted = test.exp().double().max(1)
        is_right = (predicted == y["test"]).double()
        bins = {
            "surplus": probability - is_right,
            "variance": probability * (1 - probability),
        }
        yield {
            "dataset": graph,
            "number": int(number),
            "repeat": int(repeat),
            "seeds": len(said[best]["test"]),
            "metric": metric,
            "presets": {
                name: round(_mean(metric, voice["test"], y["test"]), 4)
                for name, voice in said.items()
            },
            "best": best,
            "vote": round(METRICS[metric].function(test, y["test"]), 4),
            "best_log_loss": round(_mean("log_loss", said[best]["test"], y["test"]), 5),
            "log_loss": round(METRICS["log_loss"].function(test, y["test"]), 5),
            "calibration_error": round(METRICS["calibration_error"].function(test, y["test"]), 4),
            "weights": {n: round(w, 4) for n, w in zip(said, weights, strict=True) if w},
            "nodes": len(y["test"]),
            **{
                name: [round(value, 6) for value in sums_by_bin(probability, values).tolist()]
                for name, values in bins.items()
            },
        }


def _calibrated(scores: dict[str, Tensor], y: Tensor) -> dict[str, Tensor]:
    """Log-probabilities of every seed, each calibrated by the validation nodes."""
    found = [calibration_of(seed, y) for seed in scores["val"]]
    return {
        part: torch.stack(
            [c.scaled(z).log_softmax(1) for c, z in zip(found, scores[part], strict=True)]
        )
        for part in _PARTS
    }


def _log_mean(voices: Tensor) -> Tensor:
    return voices.exp().mean(0).log()


def _mean(metric: str, seeds: Tensor, y: Tensor) -> float:
    """A metric of one seed alone, on average."""
    return fmean(METRICS[metric].function(seed, y) for seed in seeds)


_PARTS = ("val", "test")


def pooled(lines: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """The calibration error of all nodes in per cent, and that of true probabilities on average.

    Of several repetitions, which share their nodes, the mean.
    """
    numbers = {line.get("repeat", 0) for line in lines}
    found = [_pooled([line for line in lines if line.get("repeat", 0) == n]) for n in numbers]
    error, chance = zip(*found, strict=True)
    return fmean(error), fmean(chance)


def _pooled(lines: Sequence[dict[str, Any]]) -> tuple[float, float]:
    nodes = sum(line["nodes"] for line in lines)
    surplus = [sum(column) for column in zip(*(line["surplus"] for line in lines), strict=True)]
    variance = [sum(column) for column in zip(*(line["variance"] for line in lines), strict=True)]
    # The mean distance from 0 of a normal number.
    chance = [math.sqrt(2 / math.pi * value) for value in variance]
    return 100 * sum(map(abs, surplus)) / nodes, 100 * sum(chance) / nodes


def main() -> None:
    """Train, or vote."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["train", "vote"])
    parser.add_argument("file", type=Path)
    parser.add_argument("graphs", nargs="*", help="Such as texas/10, for ten splits.")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="Number of the first of them.")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--labels", choices=["few", "many"], default="many")
    parser.add_argument("--tried", nargs="+", choices=list(_PRESETS), default=list(_TRIED))
    parser.add_argument("--data-root")
    options = parser.parse_args()
    if options.what == "train":
        settings = (getattr(options, name) for name in ("data_root", "device", "jobs"))
        repeats = range(options.first, options.first + options.repeats)
        few = options.labels == "few"
        train(options.graphs, options.file, *settings, repeats, options.tried, few)
        return
    with np.load(options.file, allow_pickle=False) as kept, options.out.open("a") as out:
        for line in results_of(kept, options.tried, options.seeds):
            out.write(json.dumps({**line, "versions": run_versions()}) + "\n")


if __name__ == "__main__":
    main()
