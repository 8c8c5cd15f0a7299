"""Labels that the model does not believe: either it is wrong, or the label is."""

from dataclasses import dataclass

import torch
from torch import Tensor

from akgnn.data.node_data import NodeData
from akgnn.explain.nodes import Role, name_of, neighbours_of, role_of


@dataclass(frozen=True)
class Suspect:
    """A labelled node that the model takes for another class.

    Attributes:
        node: Its row.
        name: Its own id where the data have ids, else its row.
        role: What the node was used for. The model has seen the labels of training nodes and gives
            in to them, so one that it still does not believe stands out.
        label: Name of the class that the data give it.
        predicted: Name of the class that the model gives it.
        probability: Of its own label.
        predicted_probability: Of the predicted class.
        num_neighbours: Neighbours whose label is known.
        neighbours_agree: Those of them that have the node's label.
        neighbours_predicted: Those of them that have the predicted class.
    """

    node: int
    name: str
    role: Role
    label: str
    predicted: str
    probability: float
    predicted_probability: float
    num_neighbours: int
    neighbours_agree: int
    neighbours_predicted: int


def suspects(probability: Tensor, data: NodeData, *, top: int = 10) -> list[Suspect]:
    """The labelled nodes most likely mislabelled.

    First up to `top` nodes whose labels were not learned from, then up to `top` training nodes;
    each part with the label that has the least probability in front.

    Args:
        probability: Of each class, shape (nodes, classes).
        data: The data that the run was trained on.
        top: How many of each part.
    """
    is_train = torch.zeros(len(data.y), dtype=torch.bool, device=data.y.device)
    is_train[data.split.train] = True
    sure, predicted = probability.max(1)
    own = probability.gather(1, data.y.clamp(min=0)[:, None])[:, 0]
    differs = (data.y >= 0) & (predicted != data.y)
    found = []
    for part in (differs & ~is_train, differs & is_train):
        nodes = part.nonzero()[:, 0]
        # Probabilities that round to 0 are told apart by how sure the model is of another class.
        nodes = nodes[sure[nodes].argsort(descending=True, stable=True)]
        nodes = nodes[own[nodes].argsort(stable=True)][:top]
        found += [_suspect(node, probability[node], data) for node in nodes.tolist()]
    return found


def _suspect(node: int, probability: Tensor, data: NodeData) -> Suspect:
    label, predicted = int(data.y[node]), int(probability.argmax())
    around = data.y[neighbours_of(data.graph, node)]
    names = data.class_names
    return Suspect(
        node,
        name_of(node, data),
        role_of(node, data),
        names[label],
        names[predicted],
        float(probability[label]),
        float(probability[predicted]),
        int((around >= 0).sum()),
        int((around == label).sum()),
        int((around == predicted).sum()),
    )
