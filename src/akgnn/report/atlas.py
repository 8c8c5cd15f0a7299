"""The atlas of a run: a map of its nodes, and the model itself where a page can run it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.explain.insight import Suspect
from akgnn.explain.nodes import name_of, neighbours_of
from akgnn.graph import Graph
from akgnn.models.adaptive_network import AdaptiveNetwork
from akgnn.report.chain import Chain, chain_of
from akgnn.report.layout import layout_of, shown_features
from akgnn.report.packing import joined
from akgnn.runs.run import Run

MOST_NODES = 20_000
"""Graphs of more nodes are shown by a sample."""

_SAMPLE = 5_000
# Nodes are drawn until so many in a row have more neighbours than there is room for.
_MOST_TRIED = 2_000
_ROLES = ("train", "val", "test")
_BITS = 65535


@dataclass(frozen=True)
class Atlas:
    """What the section shows.

    Attributes:
        drawn: For the script, and where it finds arrays in `packed`.
        num_nodes: Nodes on the map.
        num_centres: Those of a sample whose neighbours are all on the map; 0 where all nodes are.
        total: Nodes of the graph.
        why_fixed: Why there are no sliders; empty where there are.
        has_edges: Whether the graph has any.
    """

    drawn: Mapping[str, Any]
    packed: bytes
    num_nodes: int
    num_centres: int
    total: int
    why_fixed: str
    has_edges: bool


def atlas_of(
    run: Run, model: nn.Module, data: NodeData, logits: Tensor, suspects: Sequence[Suspect]
) -> Atlas:
    """The atlas of a finished run.

    Args:
        run: The run; its folder keeps the layout of the map.
        model: In evaluation mode.
        data: The data that it was trained on.
        logits: Its class scores of all nodes.
        suspects: The labels that it doubts.
    """
    total = data.graph.num_nodes
    marked = [suspect.node for suspect in suspects]
    nodes, centres = sample_of(data.graph, marked)
    is_whole = len(nodes) == total
    chain = chain_of(model, data) if is_whole else _SAMPLED
    folder = None if run.folder is None else run.folder.path
    embedded = _embedded(model, data) if is_whole else None
    points = layout_of(shown_features(logits[nodes], embedded), folder)
    arrays = {
        "points": np.round(points * _BITS).astype(np.uint16),
        "label": (data.y[nodes] + 1).numpy().astype(np.uint16),
        "role": _roles(data)[nodes.numpy()],
        **_edges(data.graph, nodes),
    }
    calibration = run.result.calibration
    drawn = {
        "classes": list(data.class_names),
        "names": _names(data, nodes),
        "suspects": torch.searchsorted(nodes, torch.tensor(marked, dtype=torch.int64)).tolist(),
        "total": total,
        "isDirected": not data.graph.is_symmetric,
        "meanDegree": data.graph.mean_degree,
        "calibration": vars(calibration),
    }
    if isinstance(chain, Chain):
        drawn["chain"], more = _chain_parts(chain)
    else:
        probability = calibration.scaled(logits[nodes]).softmax(1)
        drawn["chain"], more = None, _answers(probability)
    if not is_whole:
        more["around"] = _classes_around(data.graph, nodes, logits.argmax(1), data.num_classes)
    drawn["arrays"], packed = joined({**arrays, **more})
    why = "" if isinstance(chain, Chain) else chain
    has_edges = data.graph.num_edges > 0
    return Atlas(drawn, packed, len(nodes), 0 if is_whole else len(centres), total, why, has_edges)


_SAMPLED = "What a node gets depends on neighbours of neighbours that are not on this map."


def sample_of(graph: Graph, wanted: Iterable[int]) -> tuple[Tensor, list[int]]:
    """The nodes of the map, ascending; and those of them that were drawn with all neighbours.

    Up to `MOST_NODES` these are all. Of a larger graph they are the wanted ones, and then nodes
    drawn at random, each with all its neighbours. The same graph always has the same sample.
    """
    total = graph.num_nodes
    if total <= MOST_NODES:
        return torch.arange(total), list(range(total))
    order = np.random.default_rng(0).permutation(total)[:_MOST_TRIED]
    shown, centres = set(wanted), []
    for node in order.tolist():
        more = {node, *neighbours_of(graph, node).tolist()}
        if len(shown) + len(more) <= _SAMPLE:
            shown |= more
            centres.append(node)
    return torch.tensor(sorted(shown)), centres


@torch.no_grad()
def _embedded(model: nn.Module, data: NodeData) -> Tensor | None:
    """What the classifier sees, where a model tells."""
    return model.embed(data.x, data.graph) if isinstance(model, AdaptiveNetwork) else None


def _roles(data: NodeData) -> NDArray[np.uint8]:
    roles = np.zeros(len(data.y), dtype=np.uint8)
    # The first that a node has counts, as everywhere.
    for number, name in reversed(list(enumerate(_ROLES, 1))):
        roles[getattr(data.split, name).numpy()] = number
    return roles


def _names(data: NodeData, nodes: Tensor) -> list[str] | None:
    """What a user calls the nodes; None where that is their row and all rows are there."""
    if data.ids is None and len(nodes) == data.graph.num_nodes:
        return None
    return [name_of(node, data) for node in nodes.tolist()]


def _edges(graph: Graph, nodes: Tensor) -> dict[str, NDArray[Any]]:
    """The edges among these nodes, row by row; of an undirected graph each once."""
    target, source = graph.adjacency.pattern.row.long(), graph.adjacency.pattern.col.long()
    place = torch.full((graph.num_nodes,), -1)
    place[nodes] = torch.arange(len(nodes))
    row, col = place[target], place[source]
    kept = (row >= 0) & (col >= 0)
    if graph.is_symmetric:
        kept &= row > col
    row, col = row[kept], col[kept]
    arrays: dict[str, NDArray[Any]] = {
        "count": torch.bincount(row, minlength=len(nodes)).numpy().astype(np.uint32),
        "col": col.numpy().astype(np.uint32),
    }
    if graph.edge_weight is not None:
        arrays["edgeWeight"] = graph.edge_weight[kept].float().numpy()
    return arrays


def _chain_parts(chain: Chain) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The chain for the script: what is JSON, and what is arrays."""
    arrays = {"signal": chain.signal.numpy()}
    for number, layer in enumerate(chain.head):
        arrays[f"bias{number}"] = layer.bias.float().numpy()
        if layer.weight is not None:
            arrays[f"weight{number}"] = layer.weight.numpy()
    numbers = {
        "kind": chain.kind,
        "followsDegree": chain.follows_degree,
        "scalars": [list(layer) for layer in chain.scalars],
        "form": chain.form,
        "readout": chain.readout,
        "readsInput": chain.reads_input,
        "channels": chain.signal.size(1),
        "head": len(chain.head),
        "slope": chain.slope,
    }
    return numbers, arrays


def _answers(probability: Tensor) -> dict[str, NDArray[Any]]:
    """The two likeliest classes of each node with their probabilities."""
    sure, order = probability.topk(min(2, probability.size(1)), dim=1)
    return {
        "answer": order.numpy().astype(np.uint16),
        "sure": np.round(sure.double().numpy() * _BITS).astype(np.uint16),
    }


def _classes_around(
    graph: Graph, nodes: Tensor, predicted: Tensor, num_classes: int
) -> NDArray[Any]:
    """How many of all neighbours of each node are predicted as each class."""
    counts = [
        torch.bincount(predicted[neighbours_of(graph, node)], minlength=num_classes)
        for node in nodes.tolist()
    ]
    return torch.stack(counts).numpy().astype(np.uint32)
