"""Tables without edges: each row is linked to its nearest rows, by what the columns make of it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.catalogue import Direction, directed
from akgnn.data.neighbours import MOST_ROWS, Neighbours, Rows, nearest_rows
from akgnn.data.node_data import NodeData
from akgnn.data.tables.columns import called
from akgnn.data.tables.features import build_features
from akgnn.data.tables.nodes import joined_ids, output_ids
from akgnn.data.tables.prediction import PredictionData, read_nodes
from akgnn.data.tables.preparation import counts_rows
from akgnn.data.tables.readers import open_table
from akgnn.data.tables.recipe import FeatureRecipe
from akgnn.data.tables.settings import LINKS, TableSettings
from akgnn.data.tables.table import TableSource, is_text, pa, pc
from akgnn.data.transforms import as_rows, from_rows
from akgnn.errors import DataError

# What the ids are called where the table has none.
_ROW = "row"


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows of training, among which those of new rows are looked for.

    Attributes:
        x: Their features, as the model takes them.
        ids: Their ids; None where they are not known any more.
        y: Classes of those that trained, -1 for others; None where they are not at hand.
    """

    x: Tensor | CSR
    ids: pa.ChunkedArray | None = None
    y: Tensor | None = None


def known_ids(opened: TableSource, settings: TableSettings) -> TableSettings:
    """The settings with the name of the column of ids; an empty one numbers the rows.

    No link needs ids, so they may be absent: beyond a column that is named or called `id`, the
    first one counts if it names rows, by texts or by numbers in a row.
    """
    name = called(opened, ("id",)) if settings.id is None else settings.id
    if name is None:
        name = opened.columns[0] if _names_rows(opened, settings.label) else ""
    return replace(settings, id=name)


def with_ids(opened: TableSource, settings: TableSettings) -> tuple[TableSource, TableSettings]:
    """A table with a column of ids, if need be the numbers of its rows, and what it is called."""
    if settings.id:
        return opened, settings
    name = _ROW
    while name in opened.columns:
        name += "_"
    return _numbered(opened, name), replace(settings, id=name)


def link_to_nearest(data: NodeData, settings: TableSettings, direction: Direction) -> NodeData:
    """The same data with each row linked to its nearest rows."""
    number = min(settings.neighbours, data.graph.num_nodes - 1)
    graph = _neighbours(TrainingRows(data.x), data.recipe, settings).graph()
    graph, notes = directed(graph, direction)
    words = f"each row is linked to its {number} nearest rows by their columns"
    source = {**data.source, **notes, LINKS: words}
    # An id that was made up is no column.
    tables = None if data.tables is None else replace(data.tables, id=settings.id)
    return replace(data, graph=graph, source=source, tables=tables)


def read_near(
    settings: TableSettings,
    recipe: FeatureRecipe,
    training: TrainingRows,
    *,
    nodes: object,
    direction: Direction,
) -> PredictionData:
    """Read the rows whose classes are asked for, each linked to its nearest rows of training.

    They stand below the rows of training and are not linked among each other, so that what is
    predicted for one does not depend on the others; a row that equals one of training has its
    neighbours.
    """
    opened = open_table(nodes, "node")
    if settings.id not in opened.columns:
        settings = replace(settings, id="")
    new = read_nodes(*with_ids(opened, settings), recipe)
    asked = as_rows(build_features(recipe, new.columns, None)).astype(np.float64)
    rows, graph = _neighbours(training, recipe, settings).attach(asked)
    first, ids = rows.shape[0] - len(new.ids), training.ids
    if ids is None:
        ids = pa.chunked_array([pa.nulls(first, new.ids.type)])
    return PredictionData(
        x=from_rows(rows),
        graph=directed(graph, direction)[0],
        ids=output_ids(new.table, new.id_name),
        rows=torch.arange(first, rows.shape[0]),
        graph_ids=joined_ids(ids, new.ids),
        y=None if training.y is None else torch.cat([training.y, torch.full((len(new.ids),), -1)]),
    )


def _neighbours(
    training: TrainingRows, recipe: FeatureRecipe | None, settings: TableSettings
) -> Neighbours:
    if recipe is None or not recipe.columns:
        reasons = "" if recipe is None else recipe.left_out_in_words
        raise DataError(
            f"There is no table of edges and no column by which rows could be near{reasons}; "
            "name a table of edges with `edges`."
        )
    rows: Rows = as_rows(training.x)
    if rows.shape[0] > MOST_ROWS:
        raise DataError(
            f"There is no table of edges, and {rows.shape[0]:,} rows are too many to find the "
            f"nearest of each (at most {MOST_ROWS:,}); name a table of edges with `edges`."
        )
    return Neighbours.build(rows.astype(np.float64), settings.neighbours, nearest_rows)


def _names_rows(opened: TableSource, label: str | None) -> bool:
    """Whether the first column holds a text or a number for each row that tells nothing else."""
    first = opened.columns[0]
    if first == label or first.lower() == "label":
        return False
    column = opened.read([first]).column(first)
    if pa.types.is_integer(column.type):
        return counts_rows(column)
    if not is_text(column.type) or column.null_count:
        return False
    return bool(pc.count_distinct(column).as_py() == len(column))


def _numbered(opened: TableSource, name: str) -> TableSource:
    """The table with the numbers of its rows as one more column."""

    def read(columns: Sequence[str], text: Collection[str]) -> pa.Table:
        others = [column for column in columns if column != name] or [opened.columns[0]]
        content = opened.read_columns(others, [column for column in text if column != name])
        numbers = pa.array(np.arange(content.num_rows))
        return content.append_column(name, numbers).select(list(columns))

    return TableSource(opened.name, (*opened.columns, name), read, opened.locate)
