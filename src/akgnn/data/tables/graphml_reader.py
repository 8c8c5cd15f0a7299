"""Nodes, edges and their attributes from GraphML, by the XML parser that comes with Python."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.parsers import expat

from akgnn.errors import DataError

_NO_TRUTH = ("false", "0")
_TYPES: dict[str, Callable[[str], Any]] = {
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "string": str,
    "boolean": lambda text: text.strip().lower() not in _NO_TRUTH,
}


@dataclass
class _Key:
    """An attribute that nodes or edges may have."""

    name: str
    serves: str
    parse: Callable[[str], Any]
    default: Any = None


@dataclass
class GraphMLEdge:
    """An edge, the line it stands in, and its attributes."""

    source: str
    target: str
    is_directed: bool
    line: int
    data: dict[str, Any]


class GraphMLReader:
    """The nodes and edges of a file, taken as the parser meets them.

    Attributes:
        nodes: The attributes of each node, by its id.
        edges: The edges.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.nodes: dict[str, dict[str, Any]] = {}
        self.edges: list[GraphMLEdge] = []
        self._keys: dict[str, _Key] = {}
        self._is_directed = True
        self._has_graph = False
        self._now: dict[str, Any] | None = None
        self._key: _Key | None = None
        self._text: list[str] | None = None
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parse()

    def _parse(self) -> None:
        try:
            with self._path.open("rb") as stream:
                self._parser.ParseFile(stream)
        except (expat.ExpatError, LookupError) as error:
            # An encoding that Python does not know is a LookupError.
            raise DataError(f"{self._path} is damaged or no XML: {error}.") from error
        except OSError as error:
            reason = error.strerror or error
            raise DataError(f"{self._path} cannot be read: {reason}.") from error
        if not self.nodes:
            raise DataError(f"{self._path} holds no nodes.")

    def _error(self, what: str) -> DataError:
        return DataError(f"{self._path}, line {self._parser.CurrentLineNumber}: {what}")

    def _start(self, name: str, given: dict[str, str]) -> None:
        kind = name.rpartition(" ")[2]
        handle = {
            "key": self._start_key,
            "graph": self._start_graph,
            "node": self._start_node,
            "edge": self._start_edge,
            "hyperedge": self._start_hyperedge,
            "data": self._start_data,
            "default": self._start_default,
        }.get(kind)
        try:
            if handle is not None:
                handle(given)
        except KeyError as error:
            raise self._error(f"<{kind}> lacks {error}.") from error

    def _start_key(self, given: dict[str, str]) -> None:
        parse = _TYPES.get(given.get("attr.type", "string"))
        if parse is None:
            raise self._error(f"unknown attr.type {given['attr.type']!r}.")
        name, serves = given.get("attr.name", given["id"]), given.get("for", "all")
        self._key = self._keys[given["id"]] = _Key(name, serves, parse)

    def _start_graph(self, given: dict[str, str]) -> None:
        if self._has_graph:
            raise self._error("a second graph; only files with one plain graph are read.")
        self._has_graph = True
        self._is_directed = given["edgedefault"] == "directed"

    def _start_node(self, given: dict[str, str]) -> None:
        if given["id"] in self.nodes:
            raise self._error(f"a second node {given['id']!r}.")
        self._now = self.nodes[given["id"]] = self._defaults("node")

    def _start_edge(self, given: dict[str, str]) -> None:
        says = given.get("directed", str(self._is_directed)).lower()
        self._now = self._defaults("edge")
        line = self._parser.CurrentLineNumber
        edge = GraphMLEdge(given["source"], given["target"], says == "true", line, self._now)
        self.edges.append(edge)

    def _start_hyperedge(self, given: dict[str, str]) -> None:
        raise self._error("a hyperedge; only edges between two nodes are read.")

    def _start_data(self, given: dict[str, str]) -> None:
        if given["key"] not in self._keys:
            raise self._error(f"unknown key {given['key']!r}.")
        self._key, self._text = self._keys[given["key"]], []

    def _start_default(self, given: dict[str, str]) -> None:
        self._text = []

    def _defaults(self, kind: str) -> dict[str, Any]:
        return {
            key.name: key.default
            for key in self._keys.values()
            if key.serves in (kind, "all") and key.default is not None
        }

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _end(self, name: str) -> None:
        kind = name.rpartition(" ")[2]
        if kind in ("data", "default") and self._key is not None and self._text is not None:
            value = self._value(self._key, "".join(self._text))
            if kind == "default":
                self._key.default = value
            elif self._now is not None:
                self._now[self._key.name] = value
            self._text = None
        elif kind in ("node", "edge"):
            self._now = None

    def _value(self, key: _Key, text: str) -> Any:
        if not text.strip():
            return None
        try:
            return key.parse(text)
        except ValueError as error:
            raise self._error(f"attribute {key.name!r}: {error}.") from error
