"""A data set written out as tables and used by the commands alone, as its owner would.

    python benchmarks/own_tables.py --dataset cora --seeds 10            # the same accuracy?
    python benchmarks/own_tables.py --dataset photo --returning 0.1      # nodes that come later

The first compares `akgnn train` on two CSV files, rows shuffled, with the same on the data set. The
second takes a share of the nodes away, trains, and predicts them when they return with their edges;
beside it stands training with all nodes present, whose labels of that share are not seen either.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch
from pyarrow.csv import write_csv

from akgnn.csr import CSR
from akgnn.data.catalogue import load_dataset
from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split


def write_tables(
    data: NodeData,
    folder: Path,
    *,
    seed: int,
    nodes: Sequence[int] | None = None,
    edges: Literal["inside", "touching"] = "inside",
) -> None:
    """Write `nodes.csv` and `edges.csv`, rows shuffled; an undirected edge is written once.

    Args:
        data: Data to write.
        folder: Folder to write to; made if it does not exist.
        seed: Seed of the shuffle.
        nodes: Nodes to write; all if not given.
        edges: Edges to write: those between two such nodes, or all that touch one.
    """
    random, ids = np.random.default_rng(seed), np.array(ids_of(data))
    chosen = random.permutation(len(ids) if nodes is None else np.array(nodes))
    ends = data.graph.edge_index.numpy()
    is_chosen = np.isin(ends, chosen)
    wanted = is_chosen.all(0) if edges == "inside" else is_chosen.any(0)
    if data.graph.is_symmetric:
        wanted &= ends[0] < ends[1]
    source, target = ids[random.permutation(ends[:, wanted], axis=1)]
    part = np.full(len(ids), "", dtype="U5")
    for name in ("train", "val", "test"):
        part[getattr(data.split, name).numpy()] = name
    # An unknown label is -1, the last of these.
    label = np.array([*data.class_names, ""])[data.y.numpy()]
    x = (data.x.to_dense() if isinstance(data.x, CSR) else data.x).numpy()[chosen]
    columns = {"id": ids[chosen], "label": label[chosen], "split": part[chosen]}
    columns |= {f"feature_{k}": x[:, k] for k in range(data.num_features)}
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(pa.table(columns), folder / "nodes.csv")
    write_csv(pa.table({"source": source, "target": target}), folder / "edges.csv")


def ids_of(data: NodeData) -> list[str]:
    """The ids of nodes 0, 1, … in the files; with leading zeros, as ids often have."""
    width = len(str(data.graph.num_nodes)) + 1
    return [f"{node:0{width}d}" for node in range(data.graph.num_nodes)]


def command(*arguments: str) -> str:
    """What the program prints."""
    called = [sys.executable, "-m", "akgnn", *arguments]
    return subprocess.run(called, check=True, capture_output=True, text=True).stdout


def tables(folder: Path) -> list[str]:
    """The options that name the tables of a folder."""
    return ["--nodes", str(folder / "nodes.csv"), "--edges", str(folder / "edges.csv")]


def same_accuracy(data: NodeData, options: Sequence[str], seeds: int, folder: Path) -> Any:
    """Mean test accuracies from the data set and from its tables."""
    write_tables(data, folder, seed=0)
    many = [*options, "--seeds", str(seeds), "--json"]
    own = json.loads(command("train", *tables(folder), "--split", "split", *many))
    named = json.loads(command("train", "--dataset", data.name, *many))
    run = folder / "run"
    command("train", *tables(folder), "--split", "split", *options, "--out", str(run))
    command("predict", str(run), "--out", str(folder / "predictions.csv"))
    before, after = (_column(folder / name, "id") for name in ("nodes.csv", "predictions.csv"))
    parts = ("mean", "std", "ci95")
    return {
        "data_set": {part: named[part] for part in parts},
        "tables": {part: own[part] for part in parts},
        "ids_in_the_order_of_rows": before == after,
    }


def returning_nodes(
    data: NodeData, options: Sequence[str], share: float, seeds: int, folder: Path
) -> Any:
    """Accuracy on a share of the nodes: unseen in training, and present without their labels."""
    rows = []
    for seed in range(seeds):
        later, names = _drawn(data, share, seed), ids_of(data)
        files = folder / str(seed)
        earlier = sorted(set(range(len(names))) - set(later))
        write_tables(data, files / "earlier", nodes=earlier, seed=seed)
        write_tables(data, files / "later", nodes=later, edges="touching", seed=seed)
        write_tables(_unlabelled(data, later), files / "all", seed=seed)
        answer = {names[node]: data.class_names[int(data.y[node])] for node in later}
        score = {}
        for kind, asked in (("earlier", tables(files / "later")), ("all", [])):
            run, file = files / f"run-{kind}", files / f"{kind}.csv"
            named = [*tables(files / kind), "--split", "split", *options]
            command("train", *named, "--seed", str(seed), "--out", str(run))
            command("predict", str(run), *asked, "--out", str(file))
            predicted = dict(zip(_column(file, "id"), _column(file, "label"), strict=True))
            score[kind] = 100 * np.mean(
                [predicted[name] == label for name, label in answer.items()]
            )
        rows.append({"unseen": score["earlier"], "present": score["all"]})
    means = {kind: float(np.mean([row[kind] for row in rows])) for kind in rows[0]}
    return {"share": share, "mean": means, "runs": rows}


def _drawn(data: NodeData, share: float, seed: int) -> list[int]:
    """Nodes that return later, of those that neither train nor choose the epoch."""
    taken = torch.cat([data.split.train, data.split.val])
    free = np.setdiff1d(np.arange(data.graph.num_nodes), taken.numpy())
    free = free[data.y[torch.from_numpy(free)].numpy() >= 0]
    number = round(share * data.graph.num_nodes)
    return sorted(np.random.default_rng(seed).choice(free, number, replace=False).tolist())


def _unlabelled(data: NodeData, nodes: Sequence[int]) -> NodeData:
    y = data.y.clone()
    y[torch.tensor(nodes)] = -1
    test = data.split.test
    kept = test[~torch.isin(test, torch.tensor(nodes))]
    return replace(data, y=y, split=Split("kept", data.split.train, data.split.val, kept))


def _column(file: Path, name: str) -> list[str]:
    with file.open(newline="", encoding="utf-8") as stream:
        return [row[name] for row in csv.DictReader(stream)]


def main() -> None:
    """Measure, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--split", help="as akgnn train takes it")
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--returning", type=float, help="share of the nodes that come later")
    parser.add_argument("--options", default="", help="further options of akgnn train")
    given = parser.parse_args()
    options = given.options.split()
    data = load_dataset(given.dataset, split=given.split, features="raw", data_root=given.data_root)
    with tempfile.TemporaryDirectory() as folder:
        if given.returning is None:
            result = same_accuracy(data, options, given.seeds, Path(folder))
        else:
            result = returning_nodes(data, options, given.returning, given.seeds, Path(folder))
    print(json.dumps({"dataset": given.dataset, "options": options, **result}, indent=1))


if __name__ == "__main__":
    main()
