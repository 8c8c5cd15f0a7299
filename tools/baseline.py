"""What every model computes, to the last bit, so that two versions of the code can be compared.

    python tools/baseline.py measure before.json --src ../before/src
    python tools/baseline.py measure after.json
    python tools/baseline.py compare before.json after.json

Every model trains for 30 epochs on the three citation graphs, and AKGNN's presets train to the end;
all through the command line, on the CPU, with one thread each. Kept are the losses, accuracies and
scalars of every epoch, the scores of the result, and hashes of the weights and the predictions.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DATASETS = ("cora", "citeseer", "pubmed")
PRESETS = ("paper", "searched", "authors-code", "akgnn-consistency", "any-graph")
SHORT = ("--set", "epochs=30")


@dataclass(frozen=True)
class Case:
    """One training: its name in the file, and the options of `akgnn train`."""

    name: str
    options: tuple[str, ...]


def cases(models: list[str]) -> list[Case]:
    """All that is trained."""
    short = [
        Case(f"{model}/{dataset}", ("--model", model, "--dataset", dataset, *SHORT))
        for dataset in DATASETS
        for model in models
    ]
    whole = [
        Case(f"akgnn {preset}/{dataset}", ("--preset", preset, "--dataset", dataset))
        for dataset in DATASETS
        for preset in PRESETS
    ]
    # Last the runs that share one stacked model, and those that are resumed as folds.
    batched = [
        Case(f"{model} 3 seeds/cora", ("--model", model, "--seeds", "3", *SHORT))
        for model in ("akgnn", "appnp", "gcn")
    ]
    folds = [Case("akgnn 3 folds/cora", ("--folds", "3", *SHORT))]
    return [*short, *batched, *folds, *whole]


def measure(src: Path, jobs: int, only: str) -> dict[str, Any]:
    """Train every case with the code in `src`."""
    listed = json.loads(akgnn(src, "models", "--json"))
    names = [each["name"] for each in listed["models"]]
    chosen = [case for case in cases(names) if only in case.name]
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda case: train(src, case), chosen))
    return {case.name: result for case, result in zip(chosen, results, strict=True)}


def train(src: Path, case: Case) -> dict[str, Any]:
    """Train one case, and read what it left."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        shown = json.loads(
            akgnn(src, "train", *case.options, "--device", "cpu", "--out", str(out), "--json")
        )
        runs = {str(file.parent.relative_to(out)): file.parent for file in out.rglob("run.json")}
        kept = {name: read(src, path) for name, path in sorted(runs.items())}
    print(case.name, flush=True)
    return {"shown": without_times(shown), "runs": kept}


def read(src: Path, run: Path) -> dict[str, Any]:
    """The epochs, the weights and the predictions of one run folder."""
    predictions = run / "predictions.csv"
    akgnn(src, "predict", str(run), "--device", "cpu", "--out", str(predictions))
    lines = (run / "epochs.jsonl").read_text(encoding="utf-8").splitlines()
    (weights,) = run.glob("*.safetensors")
    return {
        "epochs": [json.loads(line) for line in lines],
        "weights": hashlib.sha256(weights.read_bytes()).hexdigest(),
        "predictions": hashlib.sha256(predictions.read_bytes()).hexdigest(),
    }


def akgnn(src: Path, *arguments: str) -> str:
    """What a command of the code in `src` prints."""
    environment = {**os.environ, "PYTHONPATH": str(src), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "akgnn", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def without_times(value: Any) -> Any:
    """The same without what no two runs share."""
    if isinstance(value, dict):
        timed = ("seconds",)
        return {name: without_times(part) for name, part in value.items() if name not in timed}
    return [without_times(part) for part in value] if isinstance(value, list) else value


def differences(before: Any, after: Any, path: str = "") -> list[str]:
    """Every value of the first that the second has otherwise; what is new there does not count."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            line
            for name in sorted(before)
            for line in differences(before[name], after.get(name), f"{path} {name}")
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [
            line
            for number, pair in enumerate(zip(before, after, strict=True))
            for line in differences(*pair, f"{path} {number}")
        ]
    return [] if before == after else [f"{path}: {str(before)[:60]} -> {str(after)[:60]}"]


def main() -> None:
    """Measure or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    measured = commands.add_parser("measure", help="train every case and write a file")
    measured.add_argument("file", type=Path)
    measured.add_argument("--src", type=Path, default=ROOT / "src", help="the code to measure")
    measured.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="trainings at once")
    measured.add_argument("--only", default="", help="cases whose name has this in it")
    compared = commands.add_parser("compare", help="say where two files differ")
    compared.add_argument("before", type=Path)
    compared.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "measure":
        result = measure(given.src.resolve(), given.jobs, given.only)
        given.file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        return
    before, after = (json.loads(file.read_text("utf-8")) for file in (given.before, given.after))
    shared = sorted({*before} & {*after})
    wrong = {name: differences(before[name], after[name]) for name in shared}
    for name in shared:
        lines = wrong[name]
        print(f"{name:32} {'equal' if not lines else f'{len(lines)} differences'}")
        for line in lines[:3]:
            print(f"   {line}")
    equal = sum(not lines for lines in wrong.values())
    print(f"{equal} of {len(shared)} equal; {len({*before} ^ {*after})} in one file only")
    sys.exit(equal != len(shared) or {*before} != {*after})


if __name__ == "__main__":
    main()
