"""A data set as two CSV files, as users have their own."""

import csv
from pathlib import Path

import numpy as np
import torch

from akgnn.csr import CSR


def ids_of(data) -> list[str]:
    """The ids of nodes 0, 1, … in the files; with leading zeros, as ids often have."""
    width = len(str(data.graph.num_nodes)) + 1
    return [f"{node:0{width}d}" for node in range(data.graph.num_nodes)]


def write_tables(data, folder: Path, *, nodes=None, edges="inside", seed=None) -> None:
    """Write `nodes.csv` (id, label, split, features) and `edges.csv` (source, target).

    An undirected edge is written once. Only some nodes may be written, with the edges between two
    of them ("inside") or with all that touch one of them. A seed shuffles the rows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ids = np.array(ids_of(data))
    chosen = np.arange(len(ids)) if nodes is None else np.array(nodes)
    links = _links(data, chosen, edges)
    if seed is not None:
        random = np.random.default_rng(seed)
        chosen, links = random.permutation(chosen), random.permutation(links)
    part = np.full(len(ids), "", dtype="U5")
    for name in ("train", "val", "test"):
        part[getattr(data.split, name)] = name
    # An unknown label is -1, the last of these.
    label = np.array([*data.class_names, ""])[data.y]
    x = (data.x.to_dense() if isinstance(data.x, CSR) else data.x).tolist()
    header = ["id", "label", "split", *(f"feature_{k}" for k in range(data.num_features))]
    # Nine digits tell all float32 numbers apart.
    rows = ([ids[k], label[k], part[k], *(f"{value:.9g}" for value in x[k])] for k in chosen)
    _write(folder / "nodes.csv", header, rows)
    _write(folder / "edges.csv", ["source", "target"], ids[links])


def _links(data, chosen, edges):
    source, target = data.graph.edge_index
    is_chosen = torch.zeros(data.graph.num_nodes, dtype=torch.bool)
    is_chosen[torch.from_numpy(chosen)] = True
    starts, ends = is_chosen[source], is_chosen[target]
    wanted = starts & ends if edges == "inside" else starts | ends
    if data.graph.is_symmetric:
        wanted &= source < target
    return torch.stack([source, target])[:, wanted].T.numpy()


def _write(file, header, rows):
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
