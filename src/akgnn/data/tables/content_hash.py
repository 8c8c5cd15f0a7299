"""A fingerprint of the data that a model sees."""

import hashlib
from collections.abc import Sequence

import numpy as np
from torch import Tensor

from akgnn.csr import CSR
from akgnn.graph import Graph


def content_sha256(
    x: Tensor | CSR, y: Tensor, graph: Graph, class_names: Sequence[str] = ()
) -> str:
    """The SHA-256 of features, labels, edges and the names of the classes."""
    digest = hashlib.sha256()
    for part in (*_arrays(x), y, *_arrays(graph.adjacency)):
        array = np.ascontiguousarray(part.cpu().numpy())
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.data)
    digest.update("\0".join(class_names).encode())
    return digest.hexdigest()


def _arrays(matrix: Tensor | CSR) -> list[Tensor]:
    if isinstance(matrix, Tensor):
        return [matrix]
    value = [] if matrix.value is None else [matrix.value]
    return [matrix.pattern.rowptr, matrix.pattern.col, *value]
