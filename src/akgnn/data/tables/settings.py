"""Which files and columns make the graph, and by which rules."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from akgnn.errors import NoEffectError
from akgnn.settings import Settings, count

Prepare = Literal["auto", "plain"]
Missing = Literal["fill", "refuse"]
UnknownIds = Literal["refuse", "drop"]
LINKS = "links"
"""Where the record of a run says that rows are linked to their nearest rows."""
NODES_SHA256, EDGES_SHA256 = "nodes_sha256", "edges_sha256"
"""Where it keeps the fingerprints of the two tables."""
# Settings that have an effect only with a table of edges, or only without.
_OF_EDGES, _WITHOUT_EDGES = ("source", "target", "weight", "unknown_ids"), ("neighbours",)


@dataclass(frozen=True, kw_only=True)
class TableSettings(Settings):
    """Where the nodes and edges are and what their columns mean.

    Attributes:
        nodes: File of the nodes, one a row.
        edges: File of the edges, one a row; or a list of several, whose edges are put together. An
            empty list says that there are none: each row is linked to its nearest rows.
        id: Column of the nodes' ids; if not given one called `id`, else the first. Without a table
            of edges the first counts only if it names rows; else, and if empty, rows are numbered.
        label: Column of their classes, empty where unknown; if not given one called `label`.
        source: Column of the edge table with the id that an edge starts from; if not given one
            called `source`, `src` or `from`, else the first.
        target: Column with the id that it ends in; if not given one called `target`, `dst` or
            `to`, else the second.
        weight: Column of the edges' weights; if not given every edge weighs 1.
        columns: Names and shell patterns of the columns that become features, separated by
            commas; `!pattern` leaves columns out. Ids, labels and the split never are features.
        prepare: `auto` prepares each column by what it is: numbers of any size are scaled, dates
            become age and cycle, texts words, categories a feature each. `plain` takes numbers as
            they are and texts as categories.
        standardise: Whether all numbers are shifted and scaled to mean 0 and standard deviation 1,
            0 and 1 among them.
        missing: `fill` puts the column's mean for a missing number and no category for a missing
            text; `refuse` makes missing values an error.
        unknown_ids: Whether an edge to an id that no node has is an error or is dropped.
        neighbours: Nearest rows that each row is linked to, where there is no table of edges.
    """

    nodes: str = ""
    edges: str | tuple[str, ...] = ""
    id: str | None = None
    label: str | None = None
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    columns: str = "*"
    prepare: Prepare = "auto"
    standardise: bool = False
    missing: Missing = "fill"
    unknown_ids: UnknownIds = "refuse"
    neighbours: int = count(10, most=1000)

    def __post_init__(self) -> None:
        super().__post_init__()
        default = {item.name: item.default for item in fields(self)}
        unused = _OF_EDGES if self.has_no_edges else _WITHOUT_EDGES
        needed = "a table of edges" if self.has_no_edges else "rows without a table of edges"
        for name in unused:
            value = getattr(self, name)
            if value != default[name]:
                raise NoEffectError(f"`{name}={value!r}` needs {needed}, and has no effect here.")

    @property
    def has_no_edges(self) -> bool:
        """Whether rows are linked to their nearest rows, for want of a table of edges."""
        return self.edges == ()


def paths_of(files: Any, folder: Path | None = None) -> str | tuple[str, ...]:
    """The whole path of a file, or of each of several, so that it is found from any folder.

    Nothing stands for what is no file, such as a DataFrame.

    Args:
        files: A path, a list of paths, or something else.
        folder: Where relative paths begin; the present folder if None.
    """
    if isinstance(files, list | tuple):
        paths = tuple(str(paths_of(file, folder)) for file in files)
        if len(paths) == 1:
            return paths[0]
        return paths if all(paths) else ""
    if not isinstance(files, str | Path):
        return ""
    return str(((folder or Path()) / files).absolute())
