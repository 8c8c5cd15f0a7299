"""GraphML files as data to train on."""

from pathlib import Path

import torch

from akgnn.data.catalogue import Direction
from akgnn.data.tables.assemble import TableData, assemble, directed
from akgnn.data.tables.attributes import columns_of, node_source
from akgnn.data.tables.graphml_reader import GraphMLReader
from akgnn.data.tables.settings import TableSettings
from akgnn.errors import DataError
from akgnn.graph import Graph


def load_graphml(
    path: Path | str,
    *,
    label: str | None = None,
    features: str = "*",
    standardise: bool = False,
    weight: str = "weight",
    split: str | None = None,
    split_seed: int = 0,
    direction: Direction = "symmetrised",
) -> TableData:
    """Read a GraphML file: the ids of its nodes, and their data as the columns of a node table.

    Args:
        path: The file.
        label: The attribute with the classes; if not given `label`.
        features: Which attributes become features, as in `TableSettings`.
        standardise: As in `TableSettings`.
        weight: The attribute of the edges that holds weights, 1 where an edge lacks it.
        split: As in `load_tables`, or an attribute that says it.
        split_seed: Of a random split.
        direction: Of the directed edges.
    """
    path = Path(path)
    content = GraphMLReader(path)
    opened, id_name = node_source(
        str(path), list(content.nodes), columns_of(content.nodes.values())
    )
    built = directed(_graph(path, content, weight), direction)
    settings = TableSettings(
        nodes=str(path), id=id_name, label=label, features=features, standardise=standardise
    )
    return assemble(
        opened, lambda *_: built, settings, name=path.stem, split=split, split_seed=split_seed
    )


def _graph(path: Path, content: GraphMLReader, weight: str) -> Graph:
    position = {name: index for index, name in enumerate(content.nodes)}
    ends, weights = [], []
    for edge in content.edges:
        for name in (edge.source, edge.target):
            if name not in position:
                raise DataError(f"{path}, line {edge.line}: there is no node {name!r}.")
        pair = position[edge.source], position[edge.target]
        value = edge.data.get(weight)
        if value is not None and type(value) not in (int, float):
            raise DataError(f"{path}, line {edge.line}: the weight {value!r} is no number.")
        for one in [pair] if edge.is_directed else [pair, pair[::-1]]:
            ends.append(one)
            weights.append(1.0 if value is None else float(value))
    index = torch.tensor(ends, dtype=torch.int64).view(-1, 2).T
    values = torch.tensor(weights, dtype=torch.float64)
    return Graph.from_edge_index(index, values, num_nodes=len(position))
