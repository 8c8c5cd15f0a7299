"""Why a model gives one node its class: its edges, and the features of every node within reach.

The measure is the log-odds of the predicted class c against all others, log(p_c / (1 - p_c)).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn

from akgnn.csr import CSR, Pattern, rowptr_from_rows
from akgnn.data.node_data import NodeData
from akgnn.errors import DataError, SettingsError
from akgnn.explain.nodes import (
    Direction,
    NodeFacts,
    direction_of,
    distances_from,
    facts_of,
    neighbours_of,
)
from akgnn.explain.picture import TOP, picture
from akgnn.explain.sentences import HARDLY_BELOW
from akgnn.graph import Graph
from akgnn.svg import element
from akgnn.text import count
from akgnn.training.fit import check_scores


@dataclass(frozen=True)
class Neighbour:
    """A node that an edge joins to the explained one.

    Attributes:
        facts: About it.
        effect: What the edges between the two add to the log-odds of the explained node's class.
        without: Name of the class that the explained node would get without those edges.
        direction: Of a directed graph, whether an edge comes from it, goes to it, or both.
    """

    facts: NodeFacts
    effect: float
    without: str
    direction: Direction = ""

    @property
    def says(self) -> str:
        """The effect in words."""
        if abs(self.effect) < HARDLY_BELOW:
            return "hardly matters"
        return "speaks for" if self.effect > 0 else "speaks against"


@torch.no_grad()
def neighbour_effects(
    model: nn.Module, data: NodeData, node: int, others: Sequence[int], logits: Tensor
) -> list[Neighbour]:
    """The effect of each neighbour, the greatest first.

    It is exact: the log-odds as they are, less those that the same model gives on the graph without
    the edges between the two nodes. Each takes one forward pass over the whole graph, since some
    models measure that as a whole, by its mean degree or its largest frequency.
    """
    chosen = int(logits[node].argmax())
    before = float(log_odds(logits[node], chosen))
    found = []
    for other in others:
        without: Tensor = model(data.x, without_edges(data.graph, node, other))[node]
        effect = before - float(log_odds(without, chosen))
        name = data.class_names[int(without.argmax())]
        direction = direction_of(data.graph, node, other)
        found.append(Neighbour(_facts(other, logits, data), effect, name, direction))
    return sorted(found, key=lambda neighbour: -abs(neighbour.effect))


def log_odds(logits: Tensor, chosen: int) -> Tensor:
    """The log-odds of one class of a node against all others together."""
    others = torch.cat([logits[:chosen], logits[chosen + 1 :]])
    return logits[chosen] - others.logsumexp(0)


def without_edges(graph: Graph, node: int, other: int | None = None) -> Graph:
    """The graph without the edges between two nodes, or without all edges of one."""
    pattern, value = graph.adjacency.pattern, graph.edge_weight
    row, col = pattern.row.long(), pattern.col.long()
    if other is None:
        kept = (row != node) & (col != node)
    else:
        kept = ((row != node) | (col != other)) & ((row != other) | (col != node))
    rowptr = rowptr_from_rows(row[kept], graph.num_nodes)
    fewer = Pattern(rowptr, col[kept], pattern.shape, copy=False)
    return Graph(CSR(fewer, None if value is None else value[kept]))


@dataclass(frozen=True)
class FarNode:
    """A node that no edge joins to the explained one.

    Attributes:
        facts: About it.
        distance: How many edges lie between.
        effect: What its features add to the log-odds, to the first order.
    """

    facts: NodeFacts
    distance: int
    effect: float


def feature_effects(model: nn.Module, data: NodeData, node: int, chosen: int) -> Tensor:
    """What the features of each node add to the log-odds of one node's class.

    One backward pass: gradient times input, Σ_f x_if ∂(log-odds) / ∂x_if for node i. It is exact
    where the model is linear in the features, and what a small change would add elsewhere.
    """
    x = data.x
    if isinstance(x, CSR):
        # Zeros add nothing, so the entries tell all.
        ones = torch.ones(x.num_entries, device=x.device)
        value = (ones if x.value is None else x.value.detach().clone()).requires_grad_()
        parts = value.detach() * _gradient(model, CSR(x.pattern, value), value, data, node, chosen)
        return parts.new_zeros(x.shape[0]).index_add_(0, x.pattern.row, parts)
    features = x.detach().clone().requires_grad_()
    return (features.detach() * _gradient(model, features, features, data, node, chosen)).sum(1)


def _gradient(
    model: nn.Module, x: Tensor | CSR, wanted: Tensor, data: NodeData, node: int, chosen: int
) -> Tensor:
    with torch.enable_grad():
        score = log_odds(model(x, data.graph)[node], chosen)
        (grad,) = torch.autograd.grad(score, wanted)
    return grad


def by_distance(effects: Tensor, distance: Tensor) -> list[float]:
    """The effects of nodes added up by their distance; those without a path have none.

    It ends with the furthest node that has an effect.
    """
    is_felt = (effects != 0) & (distance >= 0)
    last = int(distance[is_felt].max()) if bool(is_felt.any()) else 0
    near = (distance >= 0) & (distance <= last)
    total = torch.zeros(last + 1, dtype=torch.float64, device=effects.device)
    return list(total.index_add_(0, distance[near], effects[near].double()).tolist())


# Neighbours whose edges are taken out one by one: of a hub, those whose features count most.
MOST_NEIGHBOURS = 256


@dataclass(frozen=True)
class Answer:
    """A class with its probability."""

    name: str
    probability: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a model gives a node its class.

    Attributes:
        facts: About the node.
        predicted: The class that the model gives it.
        runner_up: The next one.
        log_odds: Log-odds of the predicted class against all others.
        alone: What the model gives it without any of its edges.
        neighbours: Those looked at, the greatest effect first.
        num_neighbours: How many there are.
        by_distance: What the features of all nodes at distance 0 (its own), 1, 2, … add to the
            log-odds, to the first order.
        far: The nodes two or more edges away that add most, the greatest first.
    """

    facts: NodeFacts
    predicted: Answer
    runner_up: Answer
    log_odds: float
    alone: Answer
    neighbours: tuple[Neighbour, ...]
    num_neighbours: int
    by_distance: tuple[float, ...]
    far: tuple[FarNode, ...]

    def __repr__(self) -> str:
        answer = f"{self.predicted.name}, {100 * self.predicted.probability:.1f} %"
        around = count(self.num_neighbours, "neighbour")
        return f"Explanation(node {self.facts.name}: {answer}; {around})"

    def _repr_html_(self) -> str:
        """The picture, for notebooks."""
        return element("div", self.picture(), style="max-width: 880px; overflow-x: auto")

    def picture(self, *, top: int = TOP) -> str:
        """The explanation as a picture: SVG, to be written to a file or shown in a page.

        Args:
            top: How many neighbours to draw, and how many nodes behind them.
        """
        return picture([self], top=top)

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""

        def flat(found: Neighbour | FarNode) -> dict[str, Any]:
            values = asdict(found)
            return {**values.pop("facts"), **values}

        return {
            **asdict(self.facts),
            "probability": self.predicted.probability,
            "runner_up": asdict(self.runner_up),
            "log_odds": self.log_odds,
            "alone": asdict(self.alone),
            "num_neighbours": self.num_neighbours,
            "neighbours": [{**flat(found), "says": found.says} for found in self.neighbours],
            "by_distance": list(self.by_distance),
            "far": [flat(found) for found in self.far],
        }


def explain_node(
    model: nn.Module,
    data: NodeData,
    node: int,
    *,
    top: int = 10,
    most_neighbours: int = MOST_NEIGHBOURS,
) -> Explanation:
    """Find the nodes that decided which class a model gives to one node.

    Args:
        model: In evaluation mode, on the data's device; any that has gradients.
        data: The data.
        node: The row of the node.
        top: How many far nodes to list.
        most_neighbours: How many neighbours to look at one by one, each with a forward pass.
    """
    _check_kinds(model, data, node)
    last = data.graph.num_nodes - 1
    if not 0 <= node <= last:
        raise DataError(f"{data.name} has the nodes 0 to {last}; there is no node {node}.")
    if data.num_classes < 2:
        raise DataError(f"{data.name} has one class only: there is nothing to decide.")
    for name, value in (("top", top), ("most_neighbours", most_neighbours)):
        if value < 1:
            raise SettingsError(f"{name} must be at least 1, got {value}.")
    # No node is explained by its own label.
    x = data.x_hiding(torch.tensor([node], device=data.y.device))
    data = replace(data, x=x, has_label_inputs=False)
    with torch.no_grad():
        logits: Tensor = model(data.x, data.graph)
        alone: Tensor = model(data.x, without_edges(data.graph, node))[node]
    check_scores(logits, data.ids)
    predicted, runner_up = _answers(logits[node], data)[:2]
    chosen = int(logits[node].argmax())
    effects = feature_effects(model, data, node, chosen)
    around = neighbours_of(data.graph, node)
    looked_at = _greatest(around, effects)[:most_neighbours].tolist()
    distance = distances_from(data.graph, node)
    beyond = _greatest(((distance > 1) & (effects != 0)).nonzero()[:, 0], effects)[:top]
    return Explanation(
        facts=_facts(node, logits, data),
        predicted=predicted,
        runner_up=runner_up,
        log_odds=float(log_odds(logits[node], chosen)),
        alone=_answers(alone, data)[0],
        neighbours=tuple(neighbour_effects(model, data, node, looked_at, logits)),
        num_neighbours=len(around),
        by_distance=tuple(by_distance(effects, distance)),
        far=tuple(
            FarNode(_facts(far, logits, data), int(distance[far]), float(effects[far]))
            for far in beyond.tolist()
        ),
    )


def _check_kinds(model: object, data: object, node: object) -> None:
    if not isinstance(model, nn.Module) or not isinstance(data, NodeData):
        kinds = f"{type(model).__name__} and {type(data).__name__}"
        raise DataError(f"A model (torch.nn.Module) and NodeData are expected, got {kinds}.")
    if not isinstance(node, Integral):
        raise DataError(f"node is the number of a row, counted from 0, got {node!r}.")


def _answers(logits: Tensor, data: NodeData) -> list[Answer]:
    """The classes of a node, the likeliest first."""
    probability, order = logits.softmax(0).sort(descending=True, stable=True)
    pairs = zip(order.tolist(), probability.tolist(), strict=True)
    return [Answer(data.class_names[k], value) for k, value in pairs]


def _greatest(nodes: Tensor, effects: Tensor) -> Tensor:
    """Nodes by the size of their effect, the greatest first."""
    return nodes[effects[nodes].abs().argsort(descending=True, stable=True)]


def _facts(node: int, logits: Tensor, data: NodeData) -> NodeFacts:
    return facts_of(node, int(logits[node].argmax()), data)
