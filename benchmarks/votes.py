"""What the default is worth: presets that vote, beside the best of them alone, split by split.

    python benchmarks/votes.py train votes.npz texas/10 photo/6 [--device cuda] [--jobs 16]
    python benchmarks/votes.py vote votes.npz --out results/votes.jsonl

The first line trains, on the first so many splits of each graph, every preset that `akgnn train`
tries where nobody names one, as it does, and keeps class scores of validation and test nodes in a
file. Graphs are those of `akgnn reproduce medium` and `elsewhere`, with their splits; seed i has
split i. The second line lets them vote by `akgnn.runs.vote`. Shares and calibrations come from
validation nodes alone; so does the choice of the best. It writes a line a split: scores of each
preset, of the best and of the vote on the test nodes; and by bin of the probability of the
predicted class, how much these probabilities add up to above the nodes that were right, and the
variance that this sum would have if the probabilities were true. So test nodes of several splits
can be looked at together: a split of Texas tests 37 nodes, and so few of them are off by about 10 %
in bins however true the probabilities are.
"""

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from akgnn.data.published import PYG_SOURCES, load_pyg
from akgnn.experiments.workers import Death, share_out
from akgnn.machine.provenance import run_versions
from akgnn.runs.plan import FOR_ANY_GRAPH, WITHOUT_EDGES, RunPlan, RunSettings
from akgnn.runs.train import train_run
from akgnn.runs.vote import vote_weights
from akgnn.training.calibration import calibration_of
from akgnn.training.fit import predict_logits
from akgnn.training.metrics import METRICS, sums_by_bin

Task = tuple[str, int, str]
"""A graph, the number of its split, and a preset."""

# Other graphs have published splits by number; of these one alone, or none.
_SPLITS = {"photo": "public", "physics": "public"}
_DRAWN = ("cora", "citeseer", "pubmed", "cora-ml")
_PRESETS = (*FOR_ANY_GRAPH, WITHOUT_EDGES)


def plan_of(graph: str, number: int, preset: str) -> RunPlan:
    """The plan of a preset on a split."""
    is_drawn = graph in _DRAWN
    split = "60/20/20" if is_drawn else _SPLITS.get(graph, f"public-{number}")
    is_mlp = preset == WITHOUT_EDGES
    return RunPlan.make(
        RunSettings(
            dataset=graph,
            split=split,
            split_seed=number if is_drawn else 0,
            seed=number,
            model=WITHOUT_EDGES if is_mlp else "akgnn",
            preset=FOR_ANY_GRAPH[0] if is_mlp else preset,
        )
    )


@lru_cache(maxsize=4)
def _data(graph: str, number: int, root: str | None, device: str) -> Any:
    return plan_of(graph, number, FOR_ANY_GRAPH[0]).load(root, device)


def scores_of(task: Task, root: str | None, device: str) -> dict[str, Any]:
    """Class scores of the validation and test nodes after training."""
    data = _data(*task[:2], root, device)
    model = train_run(plan_of(*task), data).model.to(device)
    logits, split = predict_logits(model, data), data.split
    name = "|".join(map(str, task))
    found = {}
    for part, nodes in (("val", split.val), ("test", split.test)):
        found[f"{name}|{part}"] = logits[nodes].half().cpu().numpy()
        found[f"{task[0]}|{task[1]}|{part}"] = data.y[nodes].cpu().numpy().astype(np.int16)
    return found


def train(asked: list[str], file: Path, root: str | None, device: str, jobs: int) -> None:
    """Train every preset on every split."""
    pairs = [(name, int(splits)) for name, _, splits in (each.partition("/") for each in asked)]
    # Twenty blocks take longest.
    tasks = [
        (graph, number, preset)
        for preset in reversed(_PRESETS)
        for graph, splits in pairs
        for number in range(splits)
    ]
    for graph in {graph for graph, _ in pairs} & set(PYG_SOURCES):
        load_pyg(graph, root)
    kept: dict[str, Any] = {}
    for task, found in share_out(partial(scores_of, root=root, device=device), tasks, jobs):
        if isinstance(found, Death):
            raise RuntimeError(f"{task}: {found.reason}")
        kept |= found
    np.savez_compressed(file, **kept)


def results_of(kept: Any) -> Iterator[dict[str, Any]]:
    """A line for each split in the file."""
    splits = sorted({tuple(name.split("|")[:2]) for name in kept})
    for graph, number in splits:
        y = {part: torch.from_numpy(kept[f"{graph}|{number}|{part}"]).long() for part in _PARTS}
        said: dict[str, dict[str, Tensor]] = {}
        for preset in _PRESETS:
            scores = {
                part: torch.from_numpy(kept[f"{graph}|{number}|{preset}|{part}"]).float()
                for part in _PARTS
            }
            calibration = calibration_of(scores["val"], y["val"])
            said[preset] = {
                part: calibration.scaled(scores[part]).log_softmax(1) for part in _PARTS
            }
        weights = vote_weights([voice["val"] for voice in said.values()], y["val"])
        mixed = {
            part: torch.stack(
                [w * v[part].exp() for w, v in zip(weights, said.values(), strict=True)]
            ).sum(0)
            for part in _PARTS
        }
        together = {part: mixed[part].log() for part in _PARTS}
        again = calibration_of(together["val"], y["val"])
        metric = "roc_auc" if graph == "minesweeper" else "accuracy"
        by = "roc_auc" if graph == "minesweeper" else "log_loss"
        best = min(said, key=lambda name: _badness(by, said[name]["val"], y["val"]))
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
            "metric": metric,
            "presets": {
                name: round(METRICS[metric].function(voice["test"], y["test"]), 4)
                for name, voice in said.items()
            },
            "best": best,
            "vote": round(METRICS[metric].function(test, y["test"]), 4),
            "best_log_loss": round(METRICS["log_loss"].function(said[best]["test"], y["test"]), 5),
            "log_loss": round(METRICS["log_loss"].function(test, y["test"]), 5),
            "calibration_error": round(METRICS["calibration_error"].function(test, y["test"]), 4),
            "weights": {n: round(w, 4) for n, w in zip(said, weights, strict=True) if w},
            "nodes": len(y["test"]),
            **{
                name: [round(value, 6) for value in sums_by_bin(probability, values).tolist()]
                for name, values in bins.items()
            },
        }


_PARTS = ("val", "test")


def pooled(lines: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """The calibration error of all nodes in per cent, and that of true probabilities on average."""
    nodes = sum(line["nodes"] for line in lines)
    surplus = [sum(column) for column in zip(*(line["surplus"] for line in lines), strict=True)]
    variance = [sum(column) for column in zip(*(line["variance"] for line in lines), strict=True)]
    # The mean distance from 0 of a normal number.
    chance = [math.sqrt(2 / math.pi * value) for value in variance]
    return 100 * sum(map(abs, surplus)) / nodes, 100 * sum(chance) / nodes


def _badness(metric: str, scores: Tensor, y: Tensor) -> float:
    value = METRICS[metric].function(scores, y)
    return value if METRICS[metric].lower_is_better else -value


def main() -> None:
    """Train, or vote."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["train", "vote"])
    parser.add_argument("file", type=Path)
    parser.add_argument("graphs", nargs="*", help="Such as texas/10, for ten splits.")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--data-root")
    options = parser.parse_args()
    if options.what == "train":
        train(options.graphs, options.file, options.data_root, options.device, options.jobs)
        return
    with np.load(options.file, allow_pickle=False) as kept, options.out.open("a") as out:
        for line in results_of(kept):
            out.write(json.dumps({**line, "versions": run_versions()}) + "\n")


if __name__ == "__main__":
    main()
