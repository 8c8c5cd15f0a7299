"""Other data sets by name, through PyG's own classes.

PyG downloads them and unpickles what it downloaded or kept; the bundled three never do that.
"""

from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from torch import Tensor

from akgnn.csr import CSR, rowptr_from_rows
from akgnn.data.data_root import find_data_root
from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split, split_from_masks, split_per_class
from akgnn.errors import DataError, MissingExtraError
from akgnn.graph import Graph

# Features with fewer non-zeros than this share are kept sparse.
_SPARSE_BELOW = 0.1


@dataclass(frozen=True)
class PyGSource:
    """How PyG makes a data set.

    Attributes:
        dataset: Name of the class in `torch_geometric.datasets`.
        folder: Folder below the data root.
        key: The data set's name in that class, where it serves several.
        row_normalise: Whether features are bags of words, whose rows are scaled to sum to 1.
        is_directed: Whether PyG gives a directed graph. It has made some others undirected itself.
    """

    dataset: str
    folder: str
    key: str | None = None
    row_normalise: bool = True
    is_directed: bool = False


PYG_SOURCES = {
    "actor": PyGSource("Actor", "actor", is_directed=True),
    "amazon-ratings": PyGSource(
        "HeterophilousGraphDataset", "heterophilous", "Amazon-ratings", False
    ),
    "computers": PyGSource("Amazon", "amazon", "Computers", False),
    "cora-ml": PyGSource("CitationFull", "citation_full", "Cora_ML"),
    "cornell": PyGSource("WebKB", "webkb", "Cornell", is_directed=True),
    "cs": PyGSource("Coauthor", "coauthor", "CS"),
    "dblp": PyGSource("CitationFull", "citation_full", "DBLP"),
    "minesweeper": PyGSource("HeterophilousGraphDataset", "heterophilous", "Minesweeper", False),
    "photo": PyGSource("Amazon", "amazon", "Photo", False),
    "physics": PyGSource("Coauthor", "coauthor", "Physics"),
    "questions": PyGSource("HeterophilousGraphDataset", "heterophilous", "Questions", False),
    "roman-empire": PyGSource("HeterophilousGraphDataset", "heterophilous", "Roman-empire", False),
    "texas": PyGSource("WebKB", "webkb", "Texas", is_directed=True),
    "tolokers": PyGSource("HeterophilousGraphDataset", "heterophilous", "Tolokers", False),
    "wikics": PyGSource("WikiCS", "wikics", None, False),
    "wisconsin": PyGSource("WebKB", "webkb", "Wisconsin", is_directed=True),
}


def load_pyg(name: str, data_root: Path | str | None = None, *, split_index: int = 0) -> NodeData:
    """Load a data set through PyG with its own directions, and its published split if it has one.

    Args:
        name: A key of `PYG_SOURCES`.
        data_root: Folder of downloads.
        split_index: Which of the published splits.
    """
    source = PYG_SOURCES[name]
    data = _read(name, source, find_data_root(data_root) / source.folder)
    y = data.y.long()
    return NodeData(
        name=name,
        x=sparse_if_sparse(data.x.float()),
        y=y,
        graph=Graph.from_pyg(data),
        split=_split(name, data, y, split_index),
        class_names=tuple(str(label) for label in range(int(y.max()) + 1)),
        source={"origin": f"torch_geometric.datasets.{source.dataset}", "features": "raw"},
    )


def _read(name: str, source: PyGSource, folder: Path) -> Any:
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
            "point --data-root or AKGNN_DATA at a folder that has it."
        ) from error
    except (EOFError, RuntimeError, UnpicklingError) as error:
        raise DataError(
            f"What PyG keeps of {name!r} in {folder} is damaged ({error or 'it ends too early'}); "
            "delete its folder `processed` and try again."
        ) from error
    return dataset[0]


def _split(name: str, data: Any, y: Tensor, index: int) -> Split:
    masks = [getattr(data, f"{part}_mask", None) for part in ("train", "val", "test")]
    if any(mask is None for mask in masks):
        return split_per_class(y)
    train, val, test = (mask.view(len(y), -1) for mask in masks if mask is not None)
    return split_from_masks(name, train, val, test, index)


def sparse_if_sparse(x: Tensor) -> Tensor | CSR:
    """Features as CSR where most of them are 0, else as they are."""
    where = x.nonzero()
    if len(where) >= _SPARSE_BELOW * x.numel():
        return x
    row, col = where.unbind(1)
    value = x[row, col]
    rows, columns = x.shape
    is_binary = bool((value == 1).all())
    rowptr = rowptr_from_rows(row, rows)
    return CSR.from_arrays(rowptr, col, None if is_binary else value, (rows, columns))
