"""What every way into the library ends with: a node table and a graph become `NodeData`."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from torch import Tensor

from akgnn.data.catalogue import Direction, draw_split, is_drawn_split
from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split
from akgnn.data.tables.arrow import pa
from akgnn.data.tables.columns import feature_columns, id_column, label_column, named_column
from akgnn.data.tables.content_hash import content_sha256
from akgnn.data.tables.features import build_features, learn_recipe
from akgnn.data.tables.ids import checked_node_ids, output_ids
from akgnn.data.tables.labels import encode_labels
from akgnn.data.tables.recipe import FeatureRecipe
from akgnn.data.tables.settings import TableSettings
from akgnn.data.tables.split_column import split_from_column
from akgnn.data.tables.table import Table, TableSource
from akgnn.errors import DataError
from akgnn.graph import Graph

SPLIT = "60/20/20"
"""How nodes are divided where nothing else is said."""


@dataclass(frozen=True, eq=False)
class TableData:
    """What tables were turned into, and what leads back to them.

    Attributes:
        data: For training; node i is row i of the node table.
        ids: The ids of the nodes, a pyarrow array of the type they have in the table.
        recipe: How the columns became features.
        settings: Those given, with the names of all columns that were found by rule: what is
            needed to read other tables alike.
    """

    data: NodeData
    ids: pa.ChunkedArray
    recipe: FeatureRecipe
    settings: TableSettings


@dataclass(frozen=True, eq=False)
class BuiltGraph:
    """A graph with what the record of a run should say about it."""

    graph: Graph
    notes: dict[str, str]


GraphOf = Callable[[Table, pa.ChunkedArray], BuiltGraph]
"""Makes the graph, given the node table and its ids."""


def assemble(
    nodes: TableSource,
    graph_of: GraphOf,
    settings: TableSettings,
    *,
    name: str,
    split: str | None,
    split_seed: int,
) -> TableData:
    """Check the ids, encode the labels, learn and apply the recipe, and draw the split.

    Args:
        nodes: The node table.
        graph_of: Makes the graph of its nodes.
        settings: Columns and rules.
        name: Of the data.
        split: How to draw it, or the name of a column that says it.
        split_seed: Of a random split.
    """
    split = SPLIT if split is None else split
    parts = _parts(nodes, settings, split)
    chosen = feature_columns(nodes, settings.features, parts)
    table = nodes.read([*parts, *chosen], text=parts)
    if not len(table):
        raise DataError(f"{table.name} has column names but no rows.")

    id_name, label = list(parts)[:2]
    ids = checked_node_ids(table, id_name)
    y, class_names = encode_labels(table, label)
    built = graph_of(table, ids)
    graph = built.graph
    recipe, columns = learn_recipe(
        table, chosen, standardise=settings.standardise, missing=settings.missing
    )
    x = build_features(recipe, columns, graph)
    data = NodeData(
        name=name,
        x=x,
        y=y,
        graph=graph,
        split=_split(table, label, y, class_names, split, split_seed),
        class_names=class_names,
        source={
            "origin": "tables",
            "features": recipe.in_words,
            "sha256": content_sha256(x, y, graph, class_names),
            **built.notes,
        },
    )
    found = replace(settings, id=id_name, label=label)
    return TableData(data, output_ids(table, id_name), recipe, found)


def directed(graph: Graph, direction: Direction) -> BuiltGraph:
    """The graph with its directions, where they are kept, or without."""
    if direction == "symmetrised":
        return BuiltGraph(graph.symmetrised(), {})
    return BuiltGraph(graph, {} if graph.is_symmetric else {"direction": "kept"})


def _parts(nodes: TableSource, settings: TableSettings, split: str) -> dict[str, str]:
    """What the columns hold that are no features: ids, labels, and perhaps the split."""
    id_name = id_column(nodes, settings.id)
    label = label_column(nodes, settings.label)
    parts = {id_name: "ids", label: "labels"}
    if len(parts) == 1:
        raise DataError(f"{nodes.name}: {label!r} cannot hold both the ids and the labels.")
    if not is_drawn_split(split):
        named_column(nodes, split, "--split (which may also be 60/20/20 or 20-per-class)")
        if split in parts:
            raise DataError(f"{nodes.name}: {split!r} holds the {parts[split]}, not the split.")
        parts[split] = "split"
    return parts


def _split(
    table: Table, label: str, y: Tensor, names: tuple[str, ...], text: str, seed: int
) -> Split:
    if not is_drawn_split(text):
        return split_from_column(table, text, y)
    try:
        return draw_split(y, text, seed)
    except DataError as error:
        counts = y[y >= 0].bincount(minlength=len(names))
        smallest = int(counts.argmin())
        raise DataError(
            f"{table.of(label)}: the split {text} cannot be drawn. {error} The smallest class is "
            f"{names[smallest]!r} with {int(counts[smallest])} nodes."
        ) from error
