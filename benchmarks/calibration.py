"""How far probabilities of the default are from the truth, over all splits of a graph together.

    python benchmarks/calibration.py texas cornell --out results/calibration.jsonl

A published split of Texas tests 37 nodes. So few of them are off by about 10 % in bins however true
the probabilities are. Test nodes of ten splits together tell more. Every line is one split, trained
with no option but data, split and seed: by bin of the probability of the predicted class, how much
these probabilities add up to above the nodes that were right, and the variance that this sum would
have if the probabilities were true. What is in the file already is not trained again.
"""

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import akgnn
from akgnn.training.metrics import sums_by_bin

# Graphs with one published split have ten seeds on it.
_SPLITS = {"photo": "public", "physics": "public", "cora-ml": "60/20/20"}


def measure(graph: str, number: int, device: str, data_root: str | None) -> dict[str, Any]:
    """The default on split `number`."""
    split, draw = _SPLITS.get(graph, f"public-{number}"), number if graph == "cora-ml" else 0
    run = akgnn.train(
        graph, split=split, split_seed=draw, seed=number, device=device, data_root=data_root
    )
    data = run.data()
    nodes = data.split.test.cpu()
    probability, predicted = run.predict().probability.cpu().double()[nodes].max(1)
    is_right = (predicted == data.y.cpu()[nodes]).double()

    def by_bin(values: torch.Tensor) -> list[float]:
        return [round(value, 6) for value in sums_by_bin(probability, values).tolist()]

    return {
        "dataset": graph,
        "number": number,
        "preset": run.plan.run.preset,
        "model": run.plan.run.model,
        "nodes": len(nodes),
        "surplus": by_bin(probability - is_right),
        "variance": by_bin(probability * (1 - probability)),
        "calibration_error": run.result.test_calibration_error,
        "seconds": sum(one.seconds for one in run.choice.tried) if run.choice else None,
        "akgnn": akgnn.__version__,
    }


def pooled(lines: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """The calibration error of all nodes in per cent, and that of true probabilities on average."""
    nodes = sum(line["nodes"] for line in lines)
    surplus = [sum(column) for column in zip(*(line["surplus"] for line in lines), strict=True)]
    variance = [sum(column) for column in zip(*(line["variance"] for line in lines), strict=True)]
    # The mean distance from 0 of a normal number.
    chance = [math.sqrt(2 / math.pi * value) for value in variance]
    return 100 * sum(map(abs, surplus)) / nodes, 100 * sum(chance) / nodes


def main() -> None:
    """Measure what is missing, then print a line a graph."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--data-root")
    options = parser.parse_args()
    text = options.out.read_text() if options.out.exists() else ""
    lines = [json.loads(line) for line in text.splitlines()]
    known = {(line["dataset"], line["number"]) for line in lines}
    for graph in options.graphs:
        for number in range(options.splits):
            if (graph, number) in known:
                continue
            lines.append(measure(graph, number, options.device, options.data_root))
            with options.out.open("a") as file:
                file.write(json.dumps(lines[-1]) + "\n")
        error, chance = pooled([line for line in lines if line["dataset"] == graph])
        print(f"{graph}: {error:.1f} %; {chance:.1f} % where probabilities are true", flush=True)


if __name__ == "__main__":
    main()
