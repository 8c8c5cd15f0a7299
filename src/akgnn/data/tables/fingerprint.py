"""Fingerprints of tables: what a run compares to notice that its training tables have changed.

A fingerprint is of the values as they are read, before they become features. So it is the same on
every machine and for every type that holds the same values, and columns that the model does not use
do not count.
"""

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from akgnn.data.tables.table import is_text, pa, pc
from akgnn.graph import Graph


def nodes_sha256(
    ids: pa.ChunkedArray, y: Tensor, class_names: Sequence[str], typed: pa.Table
) -> str:
    """The SHA-256 of the nodes in their order.

    Args:
        ids: The id of each node.
        y: The class of each node, -1 if unknown.
        class_names: The names of the classes.
        typed: The columns that become features, as `typed_columns` gives them.
    """
    names = pa.chunked_array([pa.array(class_names, pa.large_string())])
    columns = [("ids", ids.cast(pa.large_string())), ("classes", names)]
    columns += zip(typed.column_names, typed.columns, strict=True)
    parts = ((name, part) for name, column in columns for part in _arrays(column))
    return _sha256([*parts, ("labels", y.cpu().numpy())])


def graph_sha256(graph: Graph) -> str:
    """The SHA-256 of the edges."""
    matrix = graph.adjacency
    tensors = {"rowptr": matrix.pattern.rowptr, "col": matrix.pattern.col}
    if matrix.value is not None:
        tensors["value"] = matrix.value
    return _sha256([(name, tensor.cpu().numpy()) for name, tensor in tensors.items()])


def _arrays(column: pa.ChunkedArray) -> Iterator[NDArray[np.generic]]:
    """The values of a column, whatever its chunks: which are there, and which they are."""
    yield np.asarray(column.is_valid().to_numpy())
    if not is_text(column.type):
        # Of every NaN and every zero the same bits.
        yield np.asarray(pc.fill_null(column, 0).to_numpy(), dtype=np.float64) + 0.0
        return
    texts = pc.fill_null(column.cast(pa.large_string()), "").combine_chunks()
    yield np.asarray(pc.binary_length(texts).to_numpy())
    yield bytes_of(texts)


def bytes_of(texts: pa.Array) -> NDArray[np.uint8]:
    """The UTF-8 of texts without a missing one, one behind the other."""
    _, offsets, content = texts.buffers()
    if not len(texts) or content is None:
        return np.empty(0, dtype=np.uint8)
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset :]
    return np.frombuffer(content, dtype=np.uint8)[ends[0] : ends[len(texts)]]


def _sha256(parts: Sequence[tuple[str, NDArray[np.generic]]]) -> str:
    digest = hashlib.sha256()
    for name, array in parts:
        digest.update(f"{name}\0{array.dtype.str}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
