"""The three citation graphs that come with the package.

They are plain NumPy archives, loaded without pickle and checked against their SHA-256.
"""

import hashlib
import io
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split
from akgnn.errors import DataError
from akgnn.graph import Graph

SHA256 = {
    "cora": "d40bfc437b22c6349287de7a4df656097d8a82c164fa2f5697f4e361632b7900",
    "citeseer": "dce08acc0b7c87b0823b54e0ddb69024889fba1302f99928674190876033cb28",
    "pubmed": "c9dcef66572db68d9827eb70bef75e336f51e9eeb8a8db44426086fb70319af8",
}


def load_bundled(name: str) -> NodeData:
    """Read `cora`, `citeseer` or `pubmed` with raw features and the public split."""
    content = (files("akgnn.data") / "files" / f"{name}.npz").read_bytes()
    check_sha256(f"{name}.npz", content, SHA256[name])
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return from_arrays(name, dict(arrays), {"origin": "bundled", "sha256": SHA256[name]})


def check_sha256(file: str, content: bytes, expected: str) -> None:
    """Refuse a file whose content is not what it was when the package was made."""
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise DataError(
            f"{file} is damaged: its SHA-256 is {found[:12]}…, expected {expected[:12]}…; "
            "install akgnn again."
        )


def from_arrays(name: str, arrays: Mapping[str, Any], source: Mapping[str, str]) -> NodeData:
    """The data that a set of arrays holds: a graph, sparse features, labels and a split.

    Args:
        name: Of the data set.
        arrays: `adj_indptr`, `adj_indices`: the graph as CSR, without values. `x_indptr`,
            `x_indices`, `x_shape` and, unless all are 1, `x_data`: the features. `y`: the labels.
            `train`, `val`, `test`: the nodes of each set. `class_names`, if there are any.
        source: Where they come from.
    """

    def index(key: str) -> Tensor:
        return torch.from_numpy(arrays[key].astype(np.int64))

    y = index("y")
    nodes = len(y)
    adjacency = CSR.from_arrays(index("adj_indptr"), index("adj_indices"), None, (nodes, nodes))
    value = torch.from_numpy(arrays["x_data"].astype(np.float32)) if "x_data" in arrays else None
    rows, columns = (int(size) for size in arrays["x_shape"])
    names = arrays.get("class_names", np.arange(int(y.max()) + 1))
    return NodeData(
        name=name,
        x=CSR.from_arrays(index("x_indptr"), index("x_indices"), value, (rows, columns)),
        y=y,
        graph=Graph(adjacency),
        split=Split("public", index("train"), index("val"), index("test"), True),
        class_names=tuple(str(label) for label in names),
        source={**source, "features": "raw"},
    )
