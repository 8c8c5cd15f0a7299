"""Data sets that others published: three that come with the package, and those that do not.

Cora, CiteSeer and PubMed are plain NumPy archives of the package, checked against their SHA-256.

Chameleon and Squirrel hold copies of nodes, some for training and some for the test, as they were
first published. Platonov et al., "A critical look at the evaluation of GNNs under heterophily"
(ICLR 2023), took the copies out and published ten splits with each. Their files are looked for in
the folder `filtered` of the data root. All five are read without pickle.

Of Photo and Physics PyG knows no split. The one of 60/20/20 per cent that recent papers report on
is looked for in the folder `splits` of the data root, where `public` asks for it.

Others come through PyG's own classes, which download them and unpickle what they downloaded.
"""

import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.node_data import NodeData, numbered
from akgnn.data.splits import Split, split_from_masks, split_from_pyg, split_per_class
from akgnn.data.transforms import sparse_if_sparse
from akgnn.errors import AkgnnError, DataError, MissingExtraError
from akgnn.files import exists, read_file
from akgnn.graph import Graph

BUNDLED_SHA256 = {
    "cora": "d40bfc437b22c6349287de7a4df656097d8a82c164fa2f5697f4e361632b7900",
    "citeseer": "dce08acc0b7c87b0823b54e0ddb69024889fba1302f99928674190876033cb28",
    "pubmed": "c9dcef66572db68d9827eb70bef75e336f51e9eeb8a8db44426086fb70319af8",
}
FILTERED_FILES = {
    "chameleon-filtered": "chameleon_filtered_directed.npz",
    "squirrel-filtered": "squirrel_filtered_directed.npz",
}
SPLIT_FILES = {
    "photo": "amazon-photo_split.npz",
    "physics": "coauthor-physics_split.npz",
}
_MASKS = ("train_masks", "val_masks", "test_masks")
# Many times what the published files have.
_MOST_BYTES = 2**28
_DAMAGED = (OSError, ValueError, EOFError, KeyError, MemoryError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class PyGSource:
    """How PyG makes a data set.

    Attributes:
        dataset: Name of the class in `torch_geometric.datasets`.
        folder: Folder below the data root.
        key: Name of the data set in that class, where it serves several.
        row_normalise: Whether features are bags of words, whose rows are scaled to sum to 1.
        is_directed: Whether PyG gives a directed graph. It has made some others undirected itself.
    """

    dataset: str
    folder: str
    key: str | None = None
    row_normalise: bool = True
    is_directed: bool = False


_PLATONOV = ("HeterophilousGraphDataset", "heterophilous")
PYG_SOURCES = {
    "actor": PyGSource("Actor", "actor", is_directed=True),
    "amazon-ratings": PyGSource(*_PLATONOV, "Amazon-ratings", False),
    "computers": PyGSource("Amazon", "amazon", "Computers", False),
    "cora-ml": PyGSource("CitationFull", "citation_full", "Cora_ML"),
    "cornell": PyGSource("WebKB", "webkb", "Cornell", is_directed=True),
    "cs": PyGSource("Coauthor", "coauthor", "CS"),
    "dblp": PyGSource("CitationFull", "citation_full", "DBLP"),
    "minesweeper": PyGSource(*_PLATONOV, "Minesweeper", False),
    "photo": PyGSource("Amazon", "amazon", "Photo", False),
    "physics": PyGSource("Coauthor", "coauthor", "Physics"),
    "questions": PyGSource(*_PLATONOV, "Questions", False),
    "roman-empire": PyGSource(*_PLATONOV, "Roman-empire", False),
    "texas": PyGSource("WebKB", "webkb", "Texas", is_directed=True),
    "tolokers": PyGSource(*_PLATONOV, "Tolokers", False),
    "wikics": PyGSource("WikiCS", "wikics", None, False),
    "wisconsin": PyGSource("WebKB", "webkb", "Wisconsin", is_directed=True),
}


def find_data_root(folder: Path | str | None = None) -> Path:
    """The folder named, else that of the environment variable AKGNN_DATA, else `~/.cache/akgnn`."""
    default = os.environ.get("AKGNN_DATA") or Path.home() / ".cache" / "akgnn"
    return Path(default if folder is None else folder)


def load_bundled(name: str) -> NodeData:
    """Read `cora`, `citeseer` or `pubmed` with raw features and the public split."""
    content = (files("akgnn.data") / "files" / f"{name}.npz").read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != BUNDLED_SHA256[name]:
        raise DataError(
            f"{name}.npz is damaged: its SHA-256 is {sha256[:12]}…, expected "
            f"{BUNDLED_SHA256[name][:12]}…; install akgnn again."
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays = dict(archive)

    def index(key: str) -> Tensor:
        return torch.from_numpy(arrays[key].astype(np.int64))

    y = index("y")
    nodes = len(y)
    adjacency = CSR.from_arrays(index("adj_indptr"), index("adj_indices"), None, (nodes, nodes))
    # Without values all are 1.
    value = torch.from_numpy(arrays["x_data"].astype(np.float32)) if "x_data" in arrays else None
    rows, columns = (int(size) for size in arrays["x_shape"])
    x = CSR.from_arrays(index("x_indptr"), index("x_indices"), value, (rows, columns))
    split = Split("public", index("train"), index("val"), index("test"), True)
    class_names = tuple(map(str, arrays.get("class_names", np.arange(int(y.max()) + 1))))
    source = {"origin": "bundled", "sha256": sha256, "features": "raw"}
    return NodeData(name, x, y, Graph(adjacency), split, class_names, source)


def load_filtered(
    name: str, data_root: Path | str | None = None, *, split_index: int = 0
) -> NodeData:
    """Read a filtered graph with its own directions, raw features and one of its ten splits."""
    path = find_data_root(data_root) / "filtered" / FILTERED_FILES[name]
    content = _read_filtered(name, path)
    try:
        arrays = _filtered_arrays(content)
        return _filtered_data(name, arrays, split_index, hashlib.sha256(content).hexdigest())
    except AkgnnError as error:
        raise DataError(f"{path}: {error}") from error


def _read_filtered(name: str, path: Path) -> bytes:
    if not exists(path):
        raise DataError(
            f"{name!r} was looked for in {path}, which is not there. The file of that name is in "
            'the repository "heterophilous-graphs" of "A critical look at the evaluation of GNNs '
            'under heterophily" (Platonov et al., ICLR 2023), folder data; `data_root` or '
            "AKGNN_DATA names the folder that holds `filtered`."
        )
    return read_file(path, _MOST_BYTES, DataError)


def load_split(name: str, data_root: Path | str | None = None) -> Split:
    """Read the published split of a graph in `SPLIT_FILES`, kept apart from the graph itself."""
    path = find_data_root(data_root) / "splits" / SPLIT_FILES[name]
    if not exists(path):
        raise DataError(
            f"The published split of {name!r} was looked for in {path}, which is not there. The "
            'file of that name is in the repository "Polynormer" of "Polynormer: '
            'Polynomial-Expressive Graph Transformer in Linear Time" (Deng et al., ICLR 2024); '
            "`data_root` or AKGNN_DATA names the folder that holds the folder splits."
        )
    kinds = dict.fromkeys(("train", "valid", "test"), ("iu", 1))
    try:
        arrays = _arrays(read_file(path, _MOST_BYTES, DataError), kinds)
        train, val, test = (torch.from_numpy(arrays[key].astype(np.int64)) for key in kinds)
        return Split("public", train, val, test, is_published=True)
    except AkgnnError as error:
        raise DataError(f"{path}: {error}") from error


def _filtered_arrays(content: bytes) -> dict[str, NDArray[np.generic]]:
    kinds = {"node_features": ("biuf", 2), "node_labels": ("iu", 1), "edges": ("iu", 2)}
    return _arrays(content, kinds | dict.fromkeys(_MASKS, ("b", 2)))


def _arrays(content: bytes, kinds: Mapping[str, tuple[str, int]]) -> dict[str, NDArray[np.generic]]:
    """The arrays of an archive, each with the kind and the number of dimensions it should have."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in kinds}
    except _DAMAGED as error:
        raise DataError(f"it is damaged or no such archive ({error}).") from error
    except TypeError as error:
        # A bare array is no archive.
        raise DataError("it is damaged or no such archive.") from error
    for key, (kind, dimensions) in kinds.items():
        array = arrays[key]
        if array.dtype.kind not in kind or array.ndim != dimensions:
            raise DataError(f"{key} has shape {list(array.shape)} of {array.dtype}.")
    return arrays


def _filtered_data(
    name: str, arrays: dict[str, NDArray[np.generic]], split_index: int, sha256: str
) -> NodeData:
    labels, edges = arrays["node_labels"], arrays["edges"]
    nodes = len(labels)
    if edges.shape[1] != 2:
        raise DataError(f"edges must have two columns, got {edges.shape[1]}.")
    # So that no label can ask for more classes than there are nodes.
    classes = np.unique(labels)
    if not np.array_equal(classes, np.arange(len(classes))):
        raise DataError("node_labels must be 0, 1, 2, … with a node of each class.")
    shapes = {arrays[key].shape for key in _MASKS}
    if len(shapes) != 1 or shapes.pop()[1:] != (nodes,):
        raise DataError(f"the masks must all have a column for each of the {nodes} nodes.")
    train, val, test = (torch.from_numpy(arrays[key].T.copy()) for key in _MASKS)
    split = split_from_masks(name, train, val, test, split_index)
    graph = Graph.from_edge_index(torch.from_numpy(edges.T.astype(np.int64)), num_nodes=nodes)
    x = sparse_if_sparse(torch.from_numpy(arrays["node_features"].astype(np.float32)))
    y = torch.from_numpy(labels.astype(np.int64))
    source = {"origin": "heterophilous-graphs", "sha256": sha256, "features": "raw"}
    return NodeData(name, x, y, graph, split, numbered(len(classes)), source)


def load_pyg(name: str, data_root: Path | str | None = None, *, split_index: int = 0) -> NodeData:
    """Load a data set through PyG with its own directions, and a published split if it has any."""
    source = PYG_SOURCES[name]
    data = _read_pyg(name, source, find_data_root(data_root) / source.folder)
    x, y = sparse_if_sparse(data.x.float()), data.y.long()
    split = split_from_pyg(name, data, split_index) or split_per_class(y)
    notes = {"origin": f"torch_geometric.datasets.{source.dataset}", "features": "raw"}
    return NodeData(name, x, y, Graph.from_pyg(data), split, numbered(int(y.max()) + 1), notes)


def _read_pyg(name: str, source: PyGSource, folder: Path) -> Any:
    try:
        from torch_geometric import datasets
    except ImportError as error:
        raise MissingExtraError(f"The data set {name!r}", "pyg") from error
    make = getattr(datasets, source.dataset)
    try:
        dataset = make(str(folder)) if source.key is None else make(str(folder), source.key)
    except OSError as error:
        # urllib and requests both raise descendants of OSError.
        raise DataError(
            f"{name!r} is not in {folder} and could not be downloaded there ({error}); "
            "point `data_root` or AKGNN_DATA at a folder that has it."
        ) from error
    except (EOFError, RuntimeError, UnpicklingError) as error:
        raise DataError(
            f"What PyG keeps of {name!r} in {folder} is damaged ({error or 'it ends too early'}); "
            "delete its folder `processed` and try again."
        ) from error
    return dataset[0]
