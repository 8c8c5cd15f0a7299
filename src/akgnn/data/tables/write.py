"""A data set as two CSV files, the way that people have their own."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from akgnn.csr import CSR
from akgnn.data.node_data import NodeData
from akgnn.errors import DataError


def write_tables(
    data: NodeData,
    folder: Path,
    *,
    nodes: Sequence[int] | None = None,
    edges: Literal["inside", "touching"] = "inside",
    seed: int | None = None,
) -> None:
    """Write `nodes.csv` (id, label, split, features) and `edges.csv` (source, target, weight).

    An edge that is there both ways is written once. Ids have leading zeros, as ids often do.

    Args:
        data: What to write.
        folder: Made if it does not exist.
        nodes: Those to write, in this order; all if not given.
        edges: Those between two of them, or those that touch one of them.
        seed: Shuffles the rows.
    """
    chosen = list(range(data.graph.num_nodes)) if nodes is None else list(nodes)
    random = None if seed is None else np.random.default_rng(seed)
    if random is not None:
        chosen = random.permutation(chosen).tolist()
    links, weight = _links(data, chosen, edges)
    order = np.arange(len(links)) if random is None else random.permutation(len(links))
    ids = ids_of(data)
    names = ["source", "target", *(["weight"] if weight is not None else [])]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / "nodes.csv", _header(data), _node_rows(data, chosen, ids))
        pairs = ([ids[source], ids[target]] for source, target in links[order].tolist())
        if weight is not None:
            values = weight[order].tolist()
            pairs = ([*pair, value] for pair, value in zip(pairs, values, strict=True))
        _write(folder / "edges.csv", names, pairs)
    except OSError as error:
        raise DataError(f"Cannot write to {folder}: {error.strerror or error}.") from error


def ids_of(data: NodeData) -> list[str]:
    """The ids that `write_tables` gives to nodes 0, 1, …."""
    width = len(str(data.graph.num_nodes)) + 1
    return [f"{node:0{width}d}" for node in range(data.graph.num_nodes)]


def _header(data: NodeData) -> list[str]:
    return ["id", "label", "split", *(f"feature_{k}" for k in range(data.num_features))]


def _node_rows(data: NodeData, chosen: Sequence[int], ids: Sequence[str]) -> Iterable[list[str]]:
    parts = dict.fromkeys(range(data.graph.num_nodes), "")
    for part in ("train", "val", "test"):
        parts |= dict.fromkeys(getattr(data.split, part).tolist(), part)
    labels = data.y.tolist()
    x = data.x.to_dense() if isinstance(data.x, CSR) else data.x
    for node in chosen:
        label = data.class_names[labels[node]] if labels[node] >= 0 else ""
        # Nine digits tell all float32 numbers apart.
        yield [ids[node], label, parts[node], *(f"{value:.9g}" for value in x[node].tolist())]


def _links(
    data: NodeData, chosen: Sequence[int], edges: Literal["inside", "touching"]
) -> tuple[np.ndarray, np.ndarray | None]:
    """The edges to write, a row each, and their weights."""
    source, target = data.graph.edge_index
    is_chosen = torch.zeros(data.graph.num_nodes, dtype=torch.bool)
    is_chosen[torch.tensor(chosen, dtype=torch.int64)] = True
    starts, ends = is_chosen[source], is_chosen[target]
    keep = starts & ends if edges == "inside" else starts | ends
    if data.graph.is_symmetric:
        keep &= source < target
    weight = data.graph.edge_weight
    links = torch.stack([source, target])[:, keep].T.numpy()
    return links, None if weight is None else weight[keep].numpy()


def _write(file: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Put the file in place in one step."""
    temporary = file.with_name(f".tmp-{file.name}")
    try:
        with temporary.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
