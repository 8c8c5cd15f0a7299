"""One node of a graph: found by what its user calls it, with its role and its neighbours."""

from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
from torch import Tensor

from akgnn.data.node_data import NodeData
from akgnn.errors import DataError, UnknownNameError
from akgnn.graph import Graph

Role = Literal["training", "validation", "test", "none"]
Direction = Literal["", "from it", "to it", "both ways"]
"""Which way the edges between a node and a neighbour go; nothing in an undirected graph."""
# So many ids an error lists.
_FEW = 20


@dataclass(frozen=True)
class NodeFacts:
    """What is known of a node.

    Attributes:
        node: Its row.
        name: Its own id where the data have ids, else its row.
        role: What it was used for.
        label: Name of its class in the data; None where unknown.
        predicted: Name of the class that the model gives it.
    """

    node: int
    name: str
    role: Role
    label: str | None
    predicted: str


def facts_of(node: int, predicted: int, data: NodeData) -> NodeFacts:
    """What is known of a node whose predicted class is given."""
    label, names = int(data.y[node]), data.class_names
    name = names[label] if label >= 0 else None
    return NodeFacts(node, name_of(node, data), role_of(node, data), name, names[predicted])


def name_of(node: int, data: NodeData) -> str:
    """What a user calls a node: its own id where the data have ids, else its row."""
    return str(node) if data.ids is None else str(_plain(data.ids[node]))


def _plain(value: Any) -> Any:
    """An id out of the wrapping that it has in a column."""
    return value.as_py() if hasattr(value, "as_py") else value


def find_node(name: str, data: NodeData) -> int:
    """The row of the node that a user names, by its own id or by its row, counted from 0."""
    if data.ids is not None:
        return _find_id(name, data)
    last = data.graph.num_nodes - 1
    digits = name.strip()
    # Not `isdigit`, which takes superscripts for digits.
    if not (digits.isascii() and digits.isdecimal()):
        raise DataError(f"A node of {data.name} is a number from 0 to {last}, got {name!r}.")
    # Compared by length first: integers of thousands of digits cannot be read.
    digits = digits.lstrip("0") or "0"
    if len(digits) > len(str(last)) or int(digits) > last:
        raise DataError(f"{data.name} has the nodes 0 to {last}; there is no node {name}.")
    return int(digits)


def _find_id(name: str, data: NodeData) -> int:
    assert data.ids is not None
    ids = [str(_plain(value)) for value in data.ids]
    if name in ids:
        return ids.index(name)
    if len(ids) <= _FEW:
        raise UnknownNameError("node", name, ids)
    raise DataError(f"{data.name} has no node with the id {name!r}; ids look like {ids[0]!r}.")


def role_of(node: int, data: NodeData) -> Role:
    """What a node was used for."""
    split = data.split
    parts: dict[Role, Tensor] = {
        "training": split.train,
        "validation": split.val,
        "test": split.test,
    }
    return next((role for role, nodes in parts.items() if bool((nodes == node).any())), "none")


def neighbours_of(graph: Graph, node: int) -> Tensor:
    """The nodes that an edge joins to this one, in either direction, ascending."""
    sides = (graph,) if graph.is_symmetric else (graph, graph.transpose)
    patterns = [side.adjacency.pattern for side in sides]
    rows = [p.col[int(p.rowptr[node]) : int(p.rowptr[node + 1])] for p in patterns]
    return cast(Tensor, torch.cat(rows).long().unique())


def direction_of(graph: Graph, node: int, neighbour: int) -> Direction:
    """Which way the edges between a node and its neighbour go, as seen from the neighbour."""
    if graph.is_symmetric:
        return ""
    pattern = graph.adjacency.pattern

    def hears(one: int, other: int) -> bool:
        sources = pattern.col[int(pattern.rowptr[one]) : int(pattern.rowptr[one + 1])]
        return bool((sources == other).any())

    if not hears(node, neighbour):
        return "to it"
    return "both ways" if hears(neighbour, node) else "from it"


def distances_from(graph: Graph, node: int) -> Tensor:
    """How many edges lie between a node and each other, whatever their direction; -1 if no path."""
    distance = torch.full((graph.num_nodes,), -1, device=graph.device)
    distance[node] = 0
    source, target = graph.edge_index
    for step in range(1, graph.num_nodes):
        reached = distance == step - 1
        beyond = torch.cat([source[reached[target]], target[reached[source]]])
        beyond = beyond[distance[beyond] < 0]
        if not beyond.numel():
            break
        distance[beyond] = step
    return distance
