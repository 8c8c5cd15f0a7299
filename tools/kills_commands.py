"""The commands that `kills.py` kills, and the tables, runs and records that they work on."""

import csv
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Command:
    """A command, which writes into the folder it is run in and reads from the folder INPUTS.

    Attributes:
        kind: The line of the table that it counts for.
        run: The command itself.
        again: What is added to go on after a kill.
        hints: What it may say, in parts, where it is asked to stop in the middle of its work.
        watched: A file that is there only while something is being written.
    """

    kind: str
    run: str
    again: str = ""
    hints: tuple[str, ...] = ()
    watched: str = ""


_GO_ON = "Go on with: akgnn train --out out"
_NOT_CHOSEN = "No model was chosen yet, and nothing was kept."
_SAME = "the same command goes on"
_SHORT = "--set epochs=40 --set patience=40"
_KEPT = "--checkpoint-seconds 0 --out out --json"
_OWN = "--nodes INPUTS/nodes.csv --edges INPUTS/edges.csv"
_NEW = "--nodes INPUTS/new.csv --edges INPUTS/new-edges.csv"


def _train(kind: str, options: str) -> Command:
    run = f"akgnn train {options} {_KEPT}"
    return Command(kind, run, again="--resume", hints=(_GO_ON, _NOT_CHOSEN))


def _tune(options: str) -> Command:
    run = f"akgnn tune {options} --out out --json"
    return Command("tune", run, hints=(_SAME,), watched="out/study.db-journal")


COMMANDS = (
    _train("train", f"--dataset csbm:num_nodes=300 --kernel signed {_SHORT}"),
    _train("train", "--dataset cora --set epochs=8 --set patience=8"),
    _train("train", f"{_OWN} {_SHORT}"),
    _train("train", f"{_OWN} --model auto --set epochs=8 --set patience=8"),
    _train("seeds", f"--dataset csbm:num_nodes=300 --seeds 3 {_SHORT}"),
    _train("seeds", f"{_OWN} --seeds 3 --set epochs=20 --set patience=20"),
    _train("folds", f"{_OWN} --folds 3 --set epochs=20 --set patience=20"),
    _train("folds", f"--dataset csbm:num_nodes=300 --folds 3 {_SHORT}"),
    _tune(f"--dataset csbm:num_nodes=300 --trials 8 {_SHORT}"),
    _tune(f"{_OWN} --trials 4 --set epochs=20 --set patience=20"),
    Command("predict", f"akgnn predict INPUTS/run {_NEW} --out out.csv --json"),
    Command("export", "akgnn export INPUTS/run --out out.pt2 --json"),
    Command("export", "akgnn export INPUTS/run --onnx --out out.onnx --json"),
    Command("report", "akgnn report INPUTS/run --out out.html --json"),
    Command("report", "akgnn report INPUTS/records --spec INPUTS/small.toml --out out.html --json"),
    Command(
        "reproduce",
        "akgnn reproduce INPUTS/small.toml --jobs 2 --out out --json",
        hints=(_SAME,),
    ),
)

_SPEC = """title = "Small"
about = "To be killed."
datasets = ["csbm:num_nodes=300"]
seeds = 4

[[rows]]
label = "SGC"
model = "sgc"
set = { epochs = 20 }

[[rows]]
label = "AKGNN"
model = "akgnn"
set = { epochs = 40, patience = 40, hidden_channels = 8 }
"""


def make_inputs(folder: Path, do: Callable[[str, Path], None]) -> None:
    """Write tables and a spec, and have `do` make a run and records of them."""
    folder.mkdir()
    _write_tables(folder, "nodes.csv", "edges.csv", range(400), seed=0)
    _write_tables(folder, "new.csv", "new-edges.csv", range(1000, 9000), seed=1)
    (folder / "small.toml").write_text(_SPEC)
    do(f"akgnn train {_OWN} {_SHORT} --out run".replace("INPUTS/", ""), folder)
    do("akgnn reproduce small.toml --seeds 2 --jobs 1 --out records", folder)


def _write_tables(folder: Path, nodes: str, edges: str, ids: range, *, seed: int) -> None:
    """Columns of several kinds that say something about the label, as most of the links do."""
    chance = random.Random(seed)
    labels = {number: chance.choice("abc") for number in ids}
    by_label = {each: [number for number in ids if labels[number] == each] for each in "abc"}
    with (folder / nodes).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "label", "age", "income", "town", "joined", "note"])
        for number, label in labels.items():
            place = "abc".index(label)
            writer.writerow(
                [
                    f"n{number}",
                    label if chance.random() < 0.8 else "",
                    round(chance.gauss(40 + 5 * place, 10)) if chance.random() < 0.9 else "",
                    round(chance.lognormvariate(8, 1), 2),
                    chance.choice(["Ulm", "Bonn", "Kiel", "Jena", "Celle"][place:]),
                    f"20{chance.randint(10, 24)}-{chance.randint(1, 12):02d}-11",
                    " ".join(chance.choices([f"word{n}" for n in range(30)], k=6)),
                ]
            )
    with (folder / edges).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["source", "target"])
        for number, label in labels.items():
            for _ in range(2):
                other = chance.choice(by_label[label] if chance.random() < 0.7 else ids)
                writer.writerow([f"n{number}", f"n{other}"])
