"""What an ensemble gains over its members on the citation graphs; results go to a file of lines.

    python benchmarks/ensembles.py --out results/ensembles.jsonl

Every line is one ensemble, of seeds that no other has. What is in the file already is not trained
again. docs/choosing.md has the table.
"""

import argparse
import json
from pathlib import Path

import akgnn

CASES = [
    (model, preset, graph)
    for graph in ("cora", "citeseer", "pubmed")
    for model, preset in (("akgnn", "paper"), ("gcn", "paper"))
]


def measure(model: str, preset: str, graph: str, members: int, number: int) -> dict[str, object]:
    """Ensemble `number` of a case."""
    run = akgnn.train(
        graph, model=model, preset=preset, ensemble=members, seed=number * members, device="cpu"
    )
    result = run.result
    return {
        "model": model,
        "preset": preset,
        "dataset": graph,
        "members": members,
        "number": number,
        "test_accuracy": result.test_accuracy,
        "test_log_loss": result.test_log_loss,
        "member_test_accuracy": [member.test_accuracy for member in run.members],
        "member_test_log_loss": [member.test_log_loss for member in run.members],
        "akgnn": akgnn.__version__,
    }


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--ensembles", type=int, default=5)
    options = parser.parse_args()
    lines = options.out.read_text().splitlines() if options.out.exists() else []
    names = ("model", "preset", "dataset", "members", "number")
    known = {tuple(json.loads(line)[name] for name in names) for line in lines}
    for case in CASES:
        for number in range(options.ensembles):
            if (*case, options.members, number) in known:
                continue
            found = measure(*case, options.members, number)
            with options.out.open("a") as file:
                file.write(json.dumps(found) + "\n")
            print(*case, number, found["test_accuracy"], flush=True)


if __name__ == "__main__":
    main()
