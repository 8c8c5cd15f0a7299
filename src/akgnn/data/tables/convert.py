"""Graphs that other libraries hold: NetworkX, igraph, PyG and SciPy."""

from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.catalogue import Direction, draw_split
from akgnn.data.node_data import NodeData
from akgnn.data.pyg import sparse_if_sparse
from akgnn.data.splits import Split, split_from_masks
from akgnn.data.tables.arrow import pa
from akgnn.data.tables.assemble import SPLIT, TableData, assemble, directed
from akgnn.data.tables.attributes import columns_of, node_source
from akgnn.data.tables.content_hash import content_sha256
from akgnn.data.tables.features import as_csr, build_features
from akgnn.data.tables.graphml import load_graphml
from akgnn.data.tables.labels import encode_labels
from akgnn.data.tables.npz import load_npz
from akgnn.data.tables.recipe import FeatureRecipe
from akgnn.data.tables.settings import TableSettings
from akgnn.data.tables.table import Table, row_number
from akgnn.errors import DataError
from akgnn.graph import Graph

__all__ = [
    "from_igraph",
    "from_networkx",
    "from_pyg",
    "from_scipy",
    "load_graphml",
    "load_npz",
]


def from_networkx(
    graph: Any,
    *,
    label: str | None = None,
    features: str = "*",
    standardise: bool = False,
    weight: str = "weight",
    split: str | None = None,
    split_seed: int = 0,
    direction: Direction = "symmetrised",
) -> TableData:
    """A NetworkX graph: its nodes are the ids, their attributes the columns of a node table.

    Args:
        graph: Directed or not; the edges of an undirected one count both ways.
        label: The attribute with the classes; if not given `label`.
        features: Which attributes become features, as in `TableSettings`.
        standardise: As in `TableSettings`.
        weight: The edge attribute that holds weights, 1 where an edge lacks it.
        split: As in `load_tables`, or an attribute that says it.
        split_seed: Of a random split.
        direction: Of a directed graph.
    """
    nodes = list(graph.nodes(data=True))
    columns = columns_of(attributes for _, attributes in nodes)
    opened, id_name = node_source("the NetworkX graph", [node for node, _ in nodes], columns)
    built = directed(Graph.from_networkx(graph, weight=weight), direction)
    settings = TableSettings(id=id_name, label=label, features=features, standardise=standardise)
    return assemble(
        opened, lambda *_: built, settings, name="networkx", split=split, split_seed=split_seed
    )


def from_igraph(
    graph: Any,
    *,
    label: str | None = None,
    features: str = "*",
    standardise: bool = False,
    weight: str = "weight",
    split: str | None = None,
    split_seed: int = 0,
    direction: Direction = "symmetrised",
) -> TableData:
    """An igraph graph: ids are its vertices' `name`, or their numbers where they have none.

    The arguments are those of `from_networkx`.
    """
    columns = {name: graph.vs[name] for name in graph.vs.attributes()}
    ids = columns.pop("name", list(range(graph.vcount())))
    opened, id_name = node_source("the igraph graph", ids, columns)
    index = torch.tensor(graph.get_edgelist(), dtype=torch.int64).view(-1, 2).T
    weights = None
    if weight in graph.es.attributes():
        try:
            numbers = [1.0 if value is None else float(value) for value in graph.es[weight]]
        except (TypeError, ValueError) as error:
            raise DataError(f"The edge attribute {weight!r} must hold numbers: {error}.") from error
        weights = torch.tensor(numbers, dtype=torch.float64)
    if not graph.is_directed():
        index = torch.cat([index, index.flip(0)], dim=1)
        weights = None if weights is None else weights.repeat(2)
    built = directed(Graph.from_edge_index(index, weights, num_nodes=len(ids)), direction)
    settings = TableSettings(id=id_name, label=label, features=features, standardise=standardise)
    return assemble(
        opened, lambda *_: built, settings, name="igraph", split=split, split_seed=split_seed
    )


def from_pyg(
    data: Any,
    *,
    split: str | None = None,
    split_seed: int = 0,
    direction: Direction = "symmetrised",
) -> NodeData:
    """A PyG `Data` with `edge_index`, `y` (below 0 where unknown) and perhaps `x` and masks.

    Args:
        data: Its `train_mask`, `val_mask` and `test_mask` are the split where none is named.
        split: `60/20/20` or `20-per-class`.
        split_seed: Of a random split.
        direction: Of a directed graph.
    """
    graph = Graph.from_pyg(data)
    y = getattr(data, "y", None)
    if not isinstance(y, Tensor) or y.shape != (graph.num_nodes,) or y.is_floating_point():
        raise DataError("The PyG data need y, a whole number for each node: its class.")
    y = y.long().clamp(min=-1)
    masks = [getattr(data, f"{part}_mask", None) for part in ("train", "val", "test")]
    if split is None and all(isinstance(mask, Tensor) and len(mask) == len(y) for mask in masks):
        train, val, test = (mask.view(len(y), -1) for mask in masks if mask is not None)
        chosen = split_from_masks("PyG data", train, val, test, 0)
    else:
        chosen = draw_split(y, split or SPLIT, split_seed)
    x = getattr(data, "x", None)
    if not (x is None or (isinstance(x, Tensor) and x.dim() == 2)):
        raise DataError("The features x of the PyG data must be a tensor, one row a node.")
    x = None if x is None else sparse_if_sparse(x.float())
    names = tuple(str(number) for number in range(int(y.max()) + 1))
    return _node_data("pyg", graph, x, y, names, chosen, direction)


def from_scipy(
    adjacency: Any,
    x: Any = None,
    y: Any = None,
    *,
    split: str | None = None,
    split_seed: int = 0,
    direction: Direction = "symmetrised",
) -> NodeData:
    """A SciPy matrix, entry (i, j) for the edge i → j, with arrays of features and labels.

    Args:
        adjacency: Square and sparse.
        x: Features, one row a node: an array, or a sparse matrix. Without any, a constant 1 and
            log(1 + degree) stand in.
        y: Labels, one a node: texts, or whole numbers; unknown are "", None, NaN and numbers
            below 0.
        split: `60/20/20` or `20-per-class`; 60/20/20 if not given.
        split_seed: Of a random split.
        direction: Of a matrix that is not symmetric.
    """
    graph = Graph.from_scipy(adjacency)
    labels = np.asarray([] if y is None else y)
    if labels.shape != (graph.num_nodes,):
        raise DataError(
            f"y must hold a label for each of the {graph.num_nodes} nodes, got shape "
            f"{list(labels.shape)}."
        )
    if labels.dtype.kind in "if":
        labels = np.where(labels < 0, np.nan, labels.astype(np.float64))
    table = Table("y", pa.table({"label": pa.array(labels, from_pandas=True)}), row_number)
    classes, names = encode_labels(table, "label")
    chosen = draw_split(classes, split or SPLIT, split_seed)
    features = None if x is None else _features(x)
    return _node_data("scipy", graph, features, classes, names, chosen, direction)


def _features(x: Any) -> Tensor | CSR:
    if sparse.issparse(x):
        return as_csr(x)
    try:
        dense = np.asarray(x, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"x must be an array of numbers: {error}.") from error
    if dense.ndim != 2:
        raise DataError(f"x must have one row a node, got shape {list(dense.shape)}.")
    return sparse_if_sparse(torch.tensor(dense))


def _node_data(
    origin: str,
    graph: Graph,
    x: Tensor | CSR | None,
    y: Tensor,
    class_names: tuple[str, ...],
    split: Split,
    direction: Direction,
) -> NodeData:
    built = directed(graph, direction)
    stand_in = FeatureRecipe(())
    in_words = "raw" if x is not None else stand_in.in_words
    x = build_features(stand_in, pa.table({}), built.graph) if x is None else x
    sha256 = content_sha256(x, y, built.graph, class_names)
    return NodeData(
        name=origin,
        x=x,
        y=y,
        graph=built.graph,
        split=split,
        class_names=class_names,
        source={"origin": origin, "features": in_words, "sha256": sha256, **built.notes},
    )
