"""Which column plays which part."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from akgnn.data.tables.table import TableSource
from akgnn.errors import DataError, suggest

_SOURCES, _TARGETS = ("source", "src", "from"), ("target", "dst", "to")
_SHOWN = 12


def id_column(nodes: TableSource, given: str | None) -> str:
    """The column of the ids: the one given, one called `id`, or the first."""
    if given is not None:
        return named_column(nodes, given, "--id")
    return _called(nodes, ("id",)) or nodes.columns[0]


def label_column(nodes: TableSource, given: str | None) -> str:
    """The column of the labels: the one given, or one called `label`."""
    if given is not None:
        return named_column(nodes, given, "--label")
    found = _called(nodes, ("label",))
    if found is None:
        raise DataError(
            f"{nodes.name} has no column called 'label'; name that of the classes with --label. "
            f"The columns are {_listed(nodes.columns)}."
        )
    return found


def end_columns(edges: TableSource, source: str | None, target: str | None) -> tuple[str, str]:
    """The columns of the two ends of an edge: those given, well-known names, or the first two."""
    if len(edges.columns) < 2:
        raise DataError(
            f"{edges.name} has one column, {edges.columns[0]!r}; an edge table needs two, for the "
            "ids at the ends of an edge."
        )
    start = named_column(edges, source, "--source") if source else _called(edges, _SOURCES)
    end = named_column(edges, target, "--target") if target else _called(edges, _TARGETS)
    start = start or next(name for name in edges.columns if name != end)
    end = end or next(name for name in edges.columns if name != start)
    if start == end:
        raise DataError(f"{edges.name}: {start!r} cannot be both ends of an edge.")
    return start, end


def named_column(table: TableSource, name: str, option: str) -> str:
    """A column that must be there."""
    if name not in table.columns:
        raise DataError(
            f"{table.name} has no column {name!r} for {option}; it has {_listed(table.columns)}."
            + did_you_mean(name, table.columns)
        )
    return name


def feature_columns(nodes: TableSource, patterns: str, taken: Mapping[str, str]) -> list[str]:
    """The columns that become features, in the order of the table.

    Args:
        nodes: The node table.
        patterns: Names and shell patterns, separated by commas; `!` before one leaves out.
        taken: What other columns hold, by their names. They never are features.
    """
    written = [text for part in patterns.split(",") if (text := part.strip())]
    wanted = [text for text in written if not text.startswith("!")]
    unwanted = [text[1:] for text in written if text.startswith("!")]
    for pattern in (*wanted, *unwanted):
        if not _matching(nodes.columns, [pattern]):
            raise DataError(
                f"{nodes.name} has no column that matches {pattern!r} of --features; it has "
                f"{_listed(nodes.columns)}.{did_you_mean(pattern, nodes.columns)}"
            )
        if pattern in wanted and pattern in taken:
            raise DataError(
                f"{nodes.name}: {pattern!r} cannot be a feature, it holds the {taken[pattern]}."
            )
    if unwanted and not wanted:
        wanted = ["*"]
    chosen = _matching(nodes.columns, wanted)
    left_out = {*_matching(nodes.columns, unwanted), *taken}
    return [name for name in chosen if name not in left_out]


def did_you_mean(name: str, choices: Sequence[str]) -> str:
    """A question that names the column spelt alike, if there is one."""
    _, found, meant = suggest(name, choices).partition("Did you mean")
    return f" {found}{meant}" if found else ""


def _matching(columns: Sequence[str], patterns: Sequence[str]) -> list[str]:
    return [
        name
        for name in columns
        if any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)
    ]


def _called(table: TableSource, names: Sequence[str]) -> str | None:
    by_lower_case = {name.lower(): name for name in reversed(table.columns)}
    return next((by_lower_case[name] for name in names if name in by_lower_case), None)


def _listed(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
    return ", ".join(columns[:_SHOWN]) + more
