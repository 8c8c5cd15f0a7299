"""How smooth signals are after training, by depth, readout, and λ learned or fixed at 2.

    python benchmarks/energy.py --out results/energy.jsonl

AKGNN is trained on Cora with the preset `paper`, but for what a line names. A line has the
Dirichlet energy over its size (`akgnn.explain.signals.dirichlet_energy`) of what enters the layers,
of what each layer makes and of what the classifier sees, in evaluation mode, and the validation
accuracy. Test nodes are not looked at. What is in the file already is not trained again.
"""

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

import torch

import akgnn
from akgnn.explain.signals import dirichlet_energy
from akgnn.models.akgnn import AKGNN

_LAYERS = (2, 5, 10, 20)
_READOUTS = ("sum", "last")
_WHAT = ("num_layers", "readout", "learn_lambda")


def measure(seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """One training, and the energies of its signals."""
    run = akgnn.train("cora", preset="paper", seed=seed, settings=settings, device="cpu")
    model, data = run.model, run.data()
    assert isinstance(model, AKGNN)
    with torch.no_grad():
        signals = model.signals(data.x, data.graph)
        readout = model.readout.reduce(signals[1:])
    return {
        "seed": seed,
        **settings,
        "layers": [round(dirichlet_energy(data.graph, h), 5) for h in signals],
        "energy": round(dirichlet_energy(data.graph, readout), 5),
        "val_accuracy": round(run.result.val_accuracy, 2),
        "akgnn": akgnn.__version__,
    }


def main() -> None:
    """Measure what is missing, seed by seed, and print each line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    lines = options.out.read_text(encoding="utf-8").splitlines() if options.out.exists() else []
    done = [json.loads(line) for line in lines]
    kinds = itertools.product(range(options.seeds), _LAYERS, _READOUTS, (True, False))
    for seed, *values in kinds:
        settings = dict(zip(_WHAT, values, strict=True))
        if any({"seed": seed, **settings}.items() <= line.items() for line in done):
            continue
        line = json.dumps(measure(seed, settings))
        with options.out.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        print(line, flush=True)


if __name__ == "__main__":
    main()
