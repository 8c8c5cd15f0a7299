"""Why a model gives one node its class."""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.errors import DataError, SettingsError
from akgnn.explain.neighbours import Neighbour, log_odds, neighbour_effects, without_edges
from akgnn.explain.nodes import NodeFacts, distances_from, facts_of, neighbours_of
from akgnn.explain.reach import FarNode, by_distance, feature_effects

# Neighbours whose edges are taken out one by one: of a hub, those whose features count most.
MOST_NEIGHBOURS = 256


@dataclass(frozen=True)
class Answer:
    """A class with its probability."""

    name: str
    probability: float


@dataclass(frozen=True)
class Explanation:
    """Why a model gives a node its class.

    Attributes:
        facts: About the node.
        predicted: The class that the model gives it.
        runner_up: The next one.
        log_odds: Of the predicted class against all others.
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
    last = data.graph.num_nodes - 1
    if not 0 <= node <= last:
        raise DataError(f"{data.name} has the nodes 0 to {last}; there is no node {node}.")
    if data.num_classes < 2:
        raise DataError(f"{data.name} has one class only: there is nothing to decide.")
    for name, value in (("top", top), ("most_neighbours", most_neighbours)):
        if value < 1:
            raise SettingsError(f"{name} must be at least 1, got {value}.")
    with torch.no_grad():
        logits: Tensor = model(data.x, data.graph)
        alone: Tensor = model(data.x, without_edges(data.graph, node))[node]
    predicted, runner_up = _answers(logits[node], data)[:2]
    chosen = int(logits[node].argmax())
    effects = feature_effects(model, data, node, chosen)
    around = neighbours_of(data.graph, node)
    looked_at = _greatest(around, effects)[:most_neighbours].tolist()
    distance = distances_from(data.graph, node)
    beyond = _greatest(((distance > 1) & (effects != 0)).nonzero()[:, 0], effects)[:top]
    return Explanation(
        facts=facts_of(node, chosen, data),
        predicted=predicted,
        runner_up=runner_up,
        log_odds=float(log_odds(logits[node], chosen)),
        alone=_answers(alone, data)[0],
        neighbours=tuple(neighbour_effects(model, data, node, looked_at, logits)),
        num_neighbours=len(around),
        by_distance=tuple(by_distance(effects, distance)),
        far=tuple(
            FarNode(
                facts_of(far, int(logits[far].argmax()), data),
                int(distance[far]),
                float(effects[far]),
            )
            for far in beyond.tolist()
        ),
    )


def _answers(logits: Tensor, data: NodeData) -> list[Answer]:
    """The classes of a node, the likeliest first."""
    probability, order = logits.softmax(0).sort(descending=True, stable=True)
    pairs = zip(order.tolist(), probability.tolist(), strict=True)
    return [Answer(data.class_names[k], value) for k, value in pairs]


def _greatest(nodes: Tensor, effects: Tensor) -> Tensor:
    """Nodes by the size of their effect, the greatest first."""
    return nodes[effects[nodes].abs().argsort(descending=True, stable=True)]
