"""Which column plays which part."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from akgnn.data.catalogue import is_drawn_split
from akgnn.data.tables.settings import TableSettings
from akgnn.data.tables.table import TableSource
from akgnn.errors import DataError, did_you_mean

# Of a name that no column has.
_LONGEST_SHOWN = 200
_SOURCES, _TARGETS = ("source", "src", "from"), ("target", "dst", "to")


def node_columns(nodes: TableSource, settings: TableSettings, split: str) -> dict[str, str]:
    """What the columns hold that are no features: ids, labels, and perhaps the split."""
    id_name, label = id_column(nodes, settings.id), label_column(nodes, settings.label)
    parts = {id_name: "ids", label: "labels"}
    if len(parts) == 1:
        raise DataError(f"{nodes.name}: {label!r} cannot hold both the ids and the labels.")
    if not is_drawn_split(split):
        named_column(nodes, split, "`split` (which may also be 60/20/20 or 20-per-class)")
        if split in parts:
            raise DataError(f"{nodes.name}: {split!r} holds the {parts[split]}, not the split.")
        parts[split] = "split"
    return parts


def id_column(nodes: TableSource, name: str | None) -> str:
    """The column of the ids: the one named, one called `id`, or the first."""
    if name is not None:
        return named_column(nodes, name, "`id`")
    return called(nodes, ("id",)) or nodes.columns[0]


def label_column(nodes: TableSource, name: str | None) -> str:
    """The column of the labels: the one named, or one called `label`."""
    if name is not None:
        return named_column(nodes, name, "`label`")
    column = called(nodes, ("label",))
    if column is None:
        raise DataError(
            f"{nodes.name} has no column called 'label'; name that of the classes with `label`. "
            f"The columns are {listed(nodes.columns)}."
        )
    return column


def end_columns(edges: TableSource, source: str | None, target: str | None) -> tuple[str, str]:
    """The columns of the two ends of an edge: those named, well-known names, or the first two."""
    if len(edges.columns) < 2:
        raise DataError(
            f"{edges.name} has one column, {edges.columns[0]!r}; an edge table needs two, for the "
            "ids at the ends of an edge."
        )
    start = named_column(edges, source, "`source`") if source else called(edges, _SOURCES)
    end = named_column(edges, target, "`target`") if target else called(edges, _TARGETS)
    start = start or next(name for name in edges.columns if name != end)
    end = end or next(name for name in edges.columns if name != start)
    if start == end:
        raise DataError(f"{edges.name}: {start!r} cannot be both ends of an edge.")
    return start, end


def named_column(table: TableSource, name: str, setting: str) -> str:
    """A column that must be there, since a setting names it."""
    if name not in table.columns:
        shown = repr(name) if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]!r}…"
        raise DataError(
            f"{table.name} has no column {shown} for {setting}; it has {listed(table.columns)}."
            + did_you_mean(name, table.columns)
        )
    return name


def feature_columns(nodes: TableSource, patterns: str, taken: Mapping[str, str]) -> list[str]:
    """The columns that become features, in the order of the table.

    `taken` says what other columns hold, which never are features.
    """
    written = [text for part in patterns.split(",") if (text := part.strip())]
    wanted = [text for text in written if not text.startswith("!")]
    unwanted = [text[1:] for text in written if text.startswith("!")]
    for pattern in (*wanted, *unwanted):
        if not _matching(nodes.columns, [pattern]):
            raise DataError(
                f"{nodes.name} has no column that matches {pattern!r} of `columns`; it has "
                f"{listed(nodes.columns)}.{did_you_mean(pattern, nodes.columns)}"
            )
        if pattern in wanted and pattern in taken:
            raise DataError(
                f"{nodes.name}: {pattern!r} cannot be a feature, it holds the {taken[pattern]}."
            )
    if unwanted and not wanted:
        wanted = ["*"]
    left_out = {*_matching(nodes.columns, unwanted), *taken}
    return [name for name in _matching(nodes.columns, wanted) if name not in left_out]


def listed(names: Sequence[str], most: int = 12) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _matching(columns: Sequence[str], patterns: Sequence[str]) -> list[str]:
    return [
        name
        for name in columns
        if any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)
    ]


def called(table: TableSource, names: Sequence[str]) -> str | None:
    """The column with the first of these names that there is, whatever its capitals."""
    by_lower_case = {name.lower(): name for name in reversed(table.columns)}
    return next((by_lower_case[name] for name in names if name in by_lower_case), None)
