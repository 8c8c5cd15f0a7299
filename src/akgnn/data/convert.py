"""Graphs that other libraries hold: NetworkX, igraph, PyG and SciPy.

All of them take a split and its seed as `load_tables` does, except that only a node table has a
column to say it, and `direction`: whether the edges of a directed graph count in both directions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.catalogue import Direction, directed, draw_split
from akgnn.data.node_data import NodeData, content_sha256, numbered
from akgnn.data.splits import Split, split_from_pyg
from akgnn.data.tables.features import build_features
from akgnn.data.tables.load import read_node_data
from akgnn.data.tables.nodes import DEFAULT_SPLIT, encode_labels
from akgnn.data.tables.recipe import FeatureRecipe
from akgnn.data.tables.settings import TableSettings
from akgnn.data.tables.table import Table, TableSource, in_memory, pa, values_of_one_kind
from akgnn.data.transforms import csr_from_scipy, sparse_if_sparse
from akgnn.errors import DataError
from akgnn.graph import Graph


def from_networkx(
    graph: Any,
    *,
    label: str | None = None,
    columns: str = "*",
    standardise: bool = False,
    weight: str = "weight",
    split: str | None = None,
    split_seed: int = 0,
    direction: Direction = "symmetrised",
) -> NodeData:
    """A NetworkX graph: its nodes are the ids, their attributes the columns of a node table.

    Args:
        graph: NetworkX graph, directed or not; an undirected edge counts in both directions.
        label: Attribute with the classes; if not given `label`.
        columns: Names and patterns of the attributes that become features, as in `TableSettings`.
        standardise: Whether numeric features are scaled to mean 0 and standard deviation 1.
        weight: Edge attribute that holds weights, 1 where an edge lacks it.
        split: Split as in `load_tables`; an attribute may say it.
        split_seed: Seed of a random split.
        direction: Whether the edges of a directed graph count in both directions.

    Raises:
        DataError: Attributes cannot be columns, or hold what a table may not hold.
    """
    nodes = list(graph.nodes(data=True))
    ids, attributes = [node for node, _ in nodes], _by_name(mapping for _, mapping in nodes)
    opened, key = _as_table("NetworkX", ids, attributes)
    settings = TableSettings(id=key, label=label, columns=columns, standardise=standardise)
    made = directed(Graph.from_networkx(graph, weight=weight), direction)
    return read_node_data("networkx", opened, settings, lambda _: made, "raw", split, split_seed)


def from_igraph(
    graph: Any,
    *,
    label: str | None = None,
    columns: str = "*",
    standardise: bool = False,
    weight: str = "weight",
    split: str | None = None,
    split_seed: int = 0,
    direction: Direction = "symmetrised",
) -> NodeData:
    """An igraph graph: ids are its vertices' `name`, or their numbers where they have none.

    The arguments are those of `from_networkx`.
    """
    attributes = {name: graph.vs[name] for name in graph.vs.attributes()}
    ids = attributes.pop("name", list(range(graph.vcount())))
    opened, key = _as_table("igraph", ids, attributes)
    settings = TableSettings(id=key, label=label, columns=columns, standardise=standardise)
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
    made = directed(Graph.from_edge_index(index, weights, num_nodes=len(ids)), direction)
    return read_node_data("igraph", opened, settings, lambda _: made, "raw", split, split_seed)


def from_pyg(
    data: Any,
    *,
    split: str | None = None,
    split_seed: int = 0,
    direction: Direction = "symmetrised",
) -> NodeData:
    """A PyG `Data` with `edge_index`, `y` (below 0 where unknown) and perhaps `x` and masks.

    `train_mask`, `val_mask` and `test_mask` are the split where none is named.
    """
    graph = Graph.from_pyg(data)
    y = getattr(data, "y", None)
    if not isinstance(y, Tensor) or y.shape != (graph.num_nodes,) or y.is_floating_point():
        raise DataError("The PyG data need y, an integer for each node: its class.")
    y = y.long().clamp(min=-1)
    chosen = split_from_pyg("PyG data", data, 0) if split is None else None
    chosen = chosen or draw_split(y, split or DEFAULT_SPLIT, split_seed)
    x = getattr(data, "x", None)
    if not (x is None or (isinstance(x, Tensor) and x.dim() == 2)):
        raise DataError("The features x of the PyG data must be a tensor, one row a node.")
    x = None if x is None else sparse_if_sparse(x.float())
    return _node_data("pyg", graph, x, y, numbered(int(y.max()) + 1), chosen, direction)


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

    Features are an array or a sparse matrix, one row a node; without any, a constant 1 and
    log(1 + degree) stand in. Labels are texts or integers, one a node; unknown are "", None, NaN
    and numbers below 0.
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
    table = Table("y", pa.table({"label": pa.array(labels, from_pandas=True)}))
    classes, names = encode_labels(table, "label")
    chosen = draw_split(classes, split or DEFAULT_SPLIT, split_seed)
    features = None if x is None else _features(x)
    return _node_data("scipy", graph, features, classes, names, chosen, direction)


def _features(x: Any) -> Tensor | CSR:
    if sparse.issparse(x):
        return csr_from_scipy(x)
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
    graph, notes = directed(graph, direction)
    stand_in = FeatureRecipe(())
    in_words = "raw" if x is not None else stand_in.in_words
    x = build_features(stand_in, pa.table({}), graph) if x is None else x
    sha256 = content_sha256(x, y, graph, class_names)
    source = {"origin": origin, "features": in_words, "sha256": sha256, **notes}
    return NodeData(origin, x, y, graph, split, class_names, source)


def _by_name(attributes: Iterable[Mapping[Any, Any]]) -> dict[str, list[Any]]:
    """The values of every attribute, None where a node lacks it."""
    rows = [{str(key): value for key, value in mapping.items()} for mapping in attributes]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _as_table(
    library: str, ids: Sequence[Any], attributes: Mapping[str, Sequence[Any]]
) -> tuple[TableSource, str]:
    """The attributes as a node table, and the name of its column of ids.

    Ids that are neither all text nor all integers, tuples for example, are written as text.
    """
    id_name = "id"
    while id_name in attributes:
        id_name += "_"
    is_plain = all(type(i) is int for i in ids) or all(type(i) is str for i in ids)
    arrays = [pa.array(ids if is_plain else [str(i) for i in ids])]
    for attribute, values in attributes.items():
        with values_of_one_kind(f"the {library} graph, attribute {attribute!r}"):
            arrays.append(pa.array(values, from_pandas=True))
    table = pa.table(arrays, names=[id_name, *attributes])
    return in_memory(f"the {library} graph", table), id_name
