"""How much a learned λ changes what the classifier sees: the readout beside that of λ = 2.

    python benchmarks/readout_cosine.py --out results/readout-cosine.jsonl

AKGNN is trained with the preset `paper`. With the weights that were found, the readout is computed
twice, with the λ that were found and with λ = 2. A line has the mean over nodes of the cosine
between the two rows of a node, the share of nodes whose class changes, the validation accuracies,
and the λ. Test nodes are not looked at. What is in the file already is not trained again.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

import akgnn
from akgnn.models.akgnn import AKGNN

_GRAPHS = ("cora", "citeseer", "pubmed")


def measure(graph: str, seed: int) -> dict[str, Any]:
    """One training, and the two readouts."""
    run = akgnn.train(graph, preset="paper", seed=seed, device="cpu")
    model, data = run.model, run.data()
    assert isinstance(model, AKGNN)
    learned = model.lambda_max
    assert learned is not None
    found = [round(value, 4) for value in learned.flatten().tolist()]
    readouts, classes = [], []
    for scalar in (None, 2.0):
        for layer in model.layers:
            if scalar is not None:
                layer.restart(scalar)
        with torch.no_grad():
            readouts.append(torch.stack(model.signals(data.x, data.graph)[1:]).sum(0))
            classes.append(model(data.x, data.graph).argmax(1))
    cosine = F.cosine_similarity(*readouts, dim=1)
    # Nodes whose hidden signal is zero have no direction.
    has_direction = readouts[0].norm(dim=1) > 0
    val = data.split.val
    return {
        "dataset": graph,
        "seed": seed,
        "cosine": round(cosine[has_direction].mean().item(), 5),
        "changed": round((classes[0] != classes[1]).double().mean().item(), 5),
        "val_accuracy": [
            round(100 * (each[val] == data.y[val]).double().mean().item(), 2) for each in classes
        ],
        "lambda": found,
        "akgnn": akgnn.__version__,
    }


def main() -> None:
    """Measure what is missing, and print a line for each graph."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    lines = options.out.read_text(encoding="utf-8").splitlines() if options.out.exists() else []
    done = [json.loads(line) for line in lines]
    for graph in _GRAPHS:
        for seed in range(options.seeds):
            if any((each["dataset"], each["seed"]) == (graph, seed) for each in done):
                continue
            done.append(measure(graph, seed))
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(done[-1]) + "\n")
        here = [each for each in done if each["dataset"] == graph]
        cosine, changed = (
            sum(each[name] for each in here) / len(here) for name in ("cosine", "changed")
        )
        print(f"{graph}: cosine {cosine:.4f}, {100 * changed:.1f} % of nodes change class")


if __name__ == "__main__":
    main()
