"""Nodes, edges and their attributes from GraphML, by the XML parser that comes with Python."""

from collections.abc import Callable
from dataclasses import dataclass, field
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
    parse: Callable[[str], Any]
    default: Any = None


@dataclass
class GraphMLEdge:
    """An edge, the line it stands in, and its attributes."""

    source: str
    target: str
    is_directed: bool
    line: int
    data: dict[str, Any] = field(default_factory=dict)


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
        self._for: dict[str, str] = {}
        self._is_directed = True
        self._depth = 0
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
        try:
            self._element(kind, given)
        except KeyError as error:
            raise self._error(f"<{kind}> lacks {error}.") from error

    def _element(self, kind: str, given: dict[str, str]) -> None:
        if kind == "key":
            parse = _TYPES.get(given.get("attr.type", "string"))
            if parse is None:
                raise self._error(f"unknown attr.type {given['attr.type']!r}.")
            self._key = _Key(given.get("attr.name", given["id"]), parse)
            self._keys[given["id"]] = self._key
            self._for[given["id"]] = given.get("for", "all")
        elif kind == "graph":
            self._depth += 1
            if self._depth > 1:
                raise self._error("a graph inside a graph; only plain graphs are read.")
            self._is_directed = given["edgedefault"] == "directed"
        elif kind == "node":
            if given["id"] in self.nodes:
                raise self._error(f"a second node {given['id']!r}.")
            self._now = self.nodes[given["id"]] = self._defaults("node")
        elif kind == "edge":
            says = given.get("directed", str(self._is_directed)).lower()
            line = self._parser.CurrentLineNumber
            edge = GraphMLEdge(given["source"], given["target"], says == "true", line)
            edge.data = self._now = self._defaults("edge")
            self.edges.append(edge)
        elif kind == "hyperedge":
            raise self._error("a hyperedge; only edges between two nodes are read.")
        elif kind == "data":
            if given["key"] not in self._keys:
                raise self._error(f"unknown key {given['key']!r}.")
            self._key, self._text = self._keys[given["key"]], []
        elif kind == "default":
            self._text = []

    def _defaults(self, kind: str) -> dict[str, Any]:
        return {
            key.name: key.default
            for id_, key in self._keys.items()
            if self._for[id_] in (kind, "all") and key.default is not None
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
