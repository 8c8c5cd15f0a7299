"""A graph as a folder of NumPy's arrays, read by memory map, for nodes numbered from 0 on.

`x.npy` holds the features, one row a node; `y.npy` the classes, integers from 0 on, below 0 or NaN
where unknown; `edges.npy` the two ends of each edge, its source first, as rows or as columns. There
may be `weight.npy` with the weights of the edges, and `train.npy`, `val.npy` and `test.npy` with
the numbers of nodes. Nothing of this has to fit into memory but a few integers for each node.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from akgnn.arrays import empty_in_file, mapped_array, read_only
from akgnn.data.catalogue import (
    Direction,
    FeatureTransform,
    check_options,
    directed,
    draw_split,
    is_drawn_split,
)
from akgnn.data.edge_weights import WEIGHTS, wrong_weight
from akgnn.data.node_data import NodeData, content_sha256, numbered
from akgnn.data.sorted_edges import SortedEdges, with_transpose_in_files
from akgnn.data.splits import Split
from akgnn.data.transforms import rows_to_1
from akgnn.errors import DataError
from akgnn.graph import Graph

DEFAULT_SPLIT = "60/20/20"
"""What is drawn where neither the folder nor anybody else names a split."""
_SETS = ("train", "val", "test")
_MOST_CLASSES = 1_000_000
# Edges, and numbers of the features, that are looked at at a time.
_EDGES, _NUMBERS = 2**19, 2**21


def read_arrays(
    folder: Path,
    scratch: Path,
    *,
    split: str | None = None,
    split_seed: int = 0,
    features: FeatureTransform = "auto",
    direction: Direction = "symmetrised",
) -> NodeData:
    """Read such a folder.

    Args:
        folder: Where the arrays are.
        scratch: An empty folder for the sorted edges; it must stay while the data are used.
        split: Such as `60/20/20` or `20-per-class`; if not given the sets in the folder, else
            60/20/20.
        split_seed: Seed of a random split.
        features: `raw` and `auto` leave them as they are, `row-normalised` divides by row.
        direction: `symmetrised` makes a directed graph undirected; `kept` leaves its directions.

    Raises:
        DataError: An array is missing or is not what it must be.
        UnknownNameError: `features` or `direction` is none of its choices.
    """
    check_options(features, direction)
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder of arrays; it holds x.npy, y.npy and edges.npy.")
    x = _features(folder / "x.npy", scratch, features == "row-normalised")
    nodes = len(x)
    y = _labels(folder / "y.npy", nodes)
    graph = _graph(folder, scratch, nodes, direction)
    graph, notes = directed(graph, direction)
    names = numbered(int(y.max()) + 1)
    source = {"origin": "arrays", "sha256": content_sha256(x, y, graph, names), **notes}
    if features == "row-normalised":
        source["features"] = "rows sum to 1"
    chosen = _split(folder, y, split, split_seed)
    return NodeData(folder.resolve().name, x, y, graph, chosen, names, source)


def num_edges(folder: Path) -> int:
    """How many edges such a folder has, of which each counts in both directions or in one."""
    return len(_edges(folder / "edges.npy"))


def _array(file: Path, kinds: str, words: str) -> NDArray[Any]:
    """An array of numbers by memory map; `kinds` are NumPy's letters for what it may hold."""
    array = mapped_array(file)
    if array.dtype.kind not in kinds:
        raise DataError(f"{file} must hold {words}, got {array.dtype}.")
    return array


def _features(file: Path, scratch: Path, divide: bool) -> Tensor:
    """The features as float32: the file itself where it holds them so, else a copy in a file."""
    array = _array(file, "fiu", "numbers")
    if array.ndim != 2 or not array.size:
        raise DataError(f"{file} must have a row for each node, got shape {list(array.shape)}.")
    is_ready = array.dtype == np.dtype("<f4") and array.flags.c_contiguous
    if is_ready and not divide:
        return read_only(array)
    x = empty_in_file(scratch / "x", torch.float32, array.shape)
    at_once = max(1, _NUMBERS // array.shape[1])
    for start in range(0, len(array), at_once):
        rows = torch.from_numpy(array[start : start + at_once].astype(np.float32))
        filled = rows_to_1(rows) if divide else rows
        assert isinstance(filled, Tensor), "they are dense"
        x[start : start + at_once] = filled
    return x


def _labels(file: Path, nodes: int) -> Tensor:
    array = _array(file, "fiu", "classes")
    if array.size != nodes or array.ndim > 2:
        raise DataError(
            f"{file} must hold one class for each of the {nodes} rows of x.npy, got shape "
            f"{list(array.shape)}."
        )
    flat = np.asarray(array).reshape(-1)
    if flat.dtype.kind == "f":
        # NaN stands for unknown, as does any number below 0.
        flat = np.where(np.isnan(flat), -1, flat)
        if not (np.isfinite(flat).all() and (flat == np.floor(flat)).all()):
            raise DataError(f"{file} must hold classes, 0, 1, 2 …; some are no integers.")
    if int(flat.max()) < 1 or int(flat.max()) >= _MOST_CLASSES:
        raise DataError(f"{file} must hold classes from 0 on, two or more; got {int(flat.max())}.")
    return torch.from_numpy(np.maximum(flat.astype(np.int64), -1))


def _edges(file: Path) -> NDArray[Any]:
    """The ends of the edges, one edge a row."""
    array = _array(file, "iu", "the numbers of nodes")
    if array.ndim != 2 or 2 not in array.shape:
        raise DataError(f"{file} must have shape (edges, 2), got {list(array.shape)}.")
    return array if array.shape[1] == 2 else array.T


def _graph(folder: Path, scratch: Path, nodes: int, direction: Direction) -> Graph:
    file, weights = folder / "edges.npy", folder / "weight.npy"
    ends = _edges(file)
    weight = _array(weights, "fiu", "numbers") if weights.exists() else None
    if weight is not None and weight.shape != (len(ends),):
        raise DataError(
            f"{weights} must hold one weight for each of the {len(ends)} edges, got shape "
            f"{list(weight.shape)}."
        )
    places = [scratch / name for name in ("edges", "transpose")]
    for place in places:
        place.mkdir()
    edges = SortedEdges(
        places[0],
        nodes,
        weight_dtype=None if weight is None else torch.float32,
        symmetrise=direction == "symmetrised",
    )
    for start in range(0, len(ends), _EDGES):
        block = ends[start : start + _EDGES].astype(np.int64)
        wrong = ((block < 0) | (block >= nodes)).any(axis=1)
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(
                f"{file}: edge {start + row} joins {block[row, 0]} and {block[row, 1]}, but x.npy "
                f"has the nodes 0 to {nodes - 1}."
            )
        source, target = torch.from_numpy(block.T.copy())
        edges.add(source, target, _weights(weights, weight, start))
    return with_transpose_in_files(edges.finish(), places[1])


def _weights(file: Path, weight: NDArray[Any] | None, start: int) -> Tensor | None:
    if weight is None:
        return None
    values = weight[start : start + _EDGES].astype(np.float64)
    row = wrong_weight(values)
    if row is not None:
        raise DataError(f"{file}: the weight of edge {start + row} is {values[row]:g}; {WEIGHTS}.")
    return torch.from_numpy(values)


def _split(folder: Path, y: Tensor, text: str | None, seed: int) -> Split:
    if text is not None:
        if not is_drawn_split(text):
            raise DataError(f"{text!r} does not say how to draw a split; 60/20/20 does.")
        return draw_split(y, text, seed)
    files = [folder / f"{name}.npy" for name in _SETS]
    there = [file for file in files if file.exists()]
    if not there:
        return draw_split(y, DEFAULT_SPLIT, seed)
    if len(there) != len(files):
        missing = next(file for file in files if not file.exists())
        raise DataError(f"{missing} is missing; train, val and test belong together.")
    arrays = [_array(file, "iu", "the numbers of nodes") for file in files]
    train, val, test = (
        torch.from_numpy(np.asarray(array).reshape(-1).astype(np.int64)) for array in arrays
    )
    return Split("arrays", train, val, test)
