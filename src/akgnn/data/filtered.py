"""Chameleon and Squirrel without their repeated nodes, read from plain NumPy archives.

The graphs as they were first published hold copies of nodes, some for training and some for the
test. Platonov et al., "A critical look at the evaluation of GNNs under heterophily" (ICLR 2023),
took the copies out and published ten splits with each. The files are not part of the package; they
are looked for in the folder `filtered` of the data root and read without pickle.
"""

import hashlib
import io
import zipfile
import zlib
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from akgnn.data.data_root import find_data_root
from akgnn.data.node_data import NodeData
from akgnn.data.pyg import sparse_if_sparse
from akgnn.data.splits import split_from_masks
from akgnn.errors import AkgnnError, DataError
from akgnn.graph import Graph

FILES = {
    "chameleon-filtered": "chameleon_filtered_directed.npz",
    "squirrel-filtered": "squirrel_filtered_directed.npz",
}
_MASKS = ("train_masks", "val_masks", "test_masks")
_DAMAGED = (OSError, ValueError, EOFError, KeyError, MemoryError, zipfile.BadZipFile, zlib.error)


def load_filtered(
    name: str, data_root: Path | str | None = None, *, split_index: int = 0
) -> NodeData:
    """Read a filtered graph with its own directions, raw features and one of its ten splits.

    Args:
        name: A key of `FILES`.
        data_root: The folder that holds `filtered`.
        split_index: Which of the published splits.
    """
    path = find_data_root(data_root) / "filtered" / FILES[name]
    content = _read(name, path)
    try:
        arrays = _arrays(content)
        return _from_arrays(name, arrays, split_index, hashlib.sha256(content).hexdigest())
    except AkgnnError as error:
        raise DataError(f"{path}: {error}") from error


def _read(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(
            f"{name!r} was looked for in {path}, which is not there. The file of that name is in "
            'the repository "heterophilous-graphs" of "A critical look at the evaluation of GNNs '
            'under heterophily" (Platonov et al., ICLR 2023), folder data; --data-root or '
            "AKGNN_DATA names the folder that holds `filtered`."
        ) from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


def _arrays(content: bytes) -> dict[str, NDArray[np.generic]]:
    """The arrays of the archive, each with the kind and the number of dimensions it should have."""
    kinds = {"node_features": ("biuf", 2), "node_labels": ("iu", 1), "edges": ("iu", 2)}
    kinds |= dict.fromkeys(_MASKS, ("b", 2))
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


def _from_arrays(
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
    edge_index = torch.from_numpy(edges.T.astype(np.int64))
    return NodeData(
        name=name,
        x=sparse_if_sparse(torch.from_numpy(arrays["node_features"].astype(np.float32))),
        y=torch.from_numpy(labels.astype(np.int64)),
        graph=Graph.from_edge_index(edge_index, num_nodes=nodes),
        split=split_from_masks(name, train, val, test, split_index),
        class_names=tuple(str(label) for label in range(len(classes))),
        source={"origin": "heterophilous-graphs", "sha256": sha256, "features": "raw"},
    )
