"""Lines about data and settings that may be meant otherwise."""

from pathlib import Path

from torch import Tensor

from akgnn.data.node_data import NodeData
from akgnn.data.tables.recipe import CategoryColumn
from akgnn.errors import LeftOutWarning
from akgnn.runs.plan import RunPlan
from akgnn.similar_names import told

# Features beyond this drown the others, and saturate what is learned from them.
_LARGE = 30
# Files whose columns are known without reading the rest.
_QUICK = (".csv", ".tsv", ".tab", ".parquet", ".pq")


def hints(plan: RunPlan, data: NodeData) -> list[str | Warning]:
    """Lines about tables and settings that may be meant otherwise."""
    left_out = plan.suited_to(data).left_out
    found = [scale_hint(data), weight_hint(data), *look_alike_hints(data)]
    more = [LeftOutWarning(left_out)] if left_out else []
    return [*filter(None, found), *more]


def look_alike_hints(data: NodeData) -> list[str]:
    """Lines about labels and categories that look alike but count as different."""
    columns = () if data.recipe is None else data.recipe.columns
    return [
        told("Labels", data.class_names),
        *(
            told(f"Categories of column {column.name!r}", column.categories)
            for column in columns
            if isinstance(column, CategoryColumn)
        ),
    ]


def weight_hint(data: NodeData) -> str | None:
    """A line about a column of weights that nobody asked for."""
    tables = data.tables
    if tables is None or tables.weight is not None or not tables.edges:
        return None
    files = [tables.edges] if isinstance(tables.edges, str) else tables.edges
    if Path(files[0]).suffix.lower() not in _QUICK:
        return None
    # pyarrow is optional.
    from akgnn.data.tables.columns import called
    from akgnn.data.tables.readers import open_table

    name = called(open_table(files[0], "edge"), ("weight", "weights"))
    if name is None or name in (tables.source, tables.target):
        return None
    return f"Every edge weighs 1; `weight={name!r}` takes the weights of that column."


def scale_hint(data: NodeData) -> str | None:
    """A line about the feature with the largest numbers, where they are too large to learn from."""
    if data.recipe is None or data.tables is None or not isinstance(data.x, Tensor):
        return None
    if data.tables.prepare == "auto":
        return None
    largest = data.x.abs().amax(0)
    feature = int(largest.argmax())
    if float(largest[feature]) <= _LARGE:
        return None
    name = data.recipe.feature_names[feature]
    return (
        f"Column {name!r} holds numbers as large as {float(largest[feature]):,.6g}; networks learn "
        "best from numbers of about 1. `prepare='auto'` scales them."
    )
