"""The atlas of a run: a map of its nodes, and the model itself where a page can run it."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.explain.insight import Suspect
from akgnn.explain.nodes import name_of, neighbours_of
from akgnn.files import json_text
from akgnn.graph import Graph
from akgnn.models.adaptive_network import AdaptiveNetwork
from akgnn.report.chain import Chain, chain_of
from akgnn.report.html import MOST_BYTES
from akgnn.report.layout import layout_of, shown_features
from akgnn.report.packing import deflated, joined
from akgnn.report.whole_numbers import whole_numbers
from akgnn.runs.run import Run
from akgnn.training.calibration import Calibration

MOST_NODES = 20_000
"""Graphs of more nodes are shown by a sample."""

# Of how many nodes at most, the next where the one before is too heavy for the page.
_SIZES = (5_000, 2_500, 1_200, 600, 300, 100)
# Nodes are drawn until so many in a row have more neighbours than there is room for.
_MOST_TRIED = 2_000
_ROLES = ("train", "val", "test")
_BITS = 65535
# Two numbers of 16 bits, as base64.
_POINT_BYTES = 16 / 3

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Atlas:
    """What the section shows.

    Attributes:
        drawn: For the script, and where it finds arrays in `packed`.
        packed: The arrays.
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


NO_ATLAS = Atlas({}, b"", 0, 0, 0, "", False)
"""For a page that is only weighed."""


@dataclass(frozen=True)
class _Content:
    """What a map may hold: which nodes, and what the page knows of them."""

    nodes: Tensor
    num_centres: int
    why_fixed: str
    drawn: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    @property
    def weight(self) -> int:
        """Bytes of a page that it takes, with the points of the map, which do not compress."""
        listed, packed = joined(self.arrays)
        text = json_text({**self.drawn, "arrays": listed}, compact=True)
        points = math.ceil(_POINT_BYTES * len(self.nodes))
        return points + len(deflated(packed)) + len(deflated(text.encode()))


def atlas_of(
    run: Run,
    model: nn.Module,
    data: NodeData,
    logits: Tensor,
    suspects: Sequence[Suspect],
    room: int,
) -> Atlas:
    """The atlas of a finished run: of what fits into the room the most.

    Args:
        run: The run; its folder keeps the layout of the map.
        model: In evaluation mode.
        data: The data that it was trained on.
        logits: Its class scores of all nodes.
        suspects: The labels that it doubts.
        room: Bytes that the page has left.
    """
    marked = [suspect.node for suspect in suspects]
    for content in _contents(model, data, logits, run.result.calibration, marked):
        if content.weight <= room:
            break
    nodes, total = content.nodes, data.graph.num_nodes
    is_whole = len(nodes) == total
    folder = None if run.folder is None else run.folder.path
    embedded = _embedded(model, data) if is_whole else None
    points = layout_of(shown_features(logits[nodes], embedded), folder)
    arrays = {"points": np.round(points * _BITS).astype(np.uint16), **content.arrays}
    listed, packed = joined(arrays)
    return Atlas(
        drawn={**content.drawn, "arrays": listed},
        packed=packed,
        num_nodes=len(nodes),
        num_centres=0 if is_whole else content.num_centres,
        total=total,
        why_fixed=content.why_fixed,
        has_edges=data.graph.num_edges > 0,
    )


_SAMPLED = "What a node gets depends on neighbours of neighbours that are not on this map."


def _contents(
    model: nn.Module, data: NodeData, logits: Tensor, calibration: Calibration, marked: list[int]
) -> Iterator[_Content]:
    """What the map may hold, the most first; the last is small on any graph."""
    graph = data.graph
    drawn = {
        "classes": list(data.class_names),
        "total": graph.num_nodes,
        "isDirected": not graph.is_symmetric,
        "meanDegree": graph.mean_degree,
        "calibration": vars(calibration),
    }

    def content(nodes: Tensor, centres: int, why: str, chain: Any, more: Arrays) -> _Content:
        places = torch.searchsorted(nodes, torch.tensor(marked, dtype=torch.int64)).tolist()
        own = {"names": _names(data, nodes), "suspects": places, "chain": chain}
        known = {
            "label": (data.y[nodes] + 1).numpy().astype(np.uint16),
            "role": _roles(data)[nodes.numpy()],
            **_edges(graph, nodes),
        }
        return _Content(nodes, centres, why, {**drawn, **own}, {**known, **more})

    probability = calibration.scaled(logits).softmax(1)
    if graph.num_nodes <= MOST_NODES:
        everybody = torch.arange(graph.num_nodes)
        chain = chain_of(model, data)
        if isinstance(chain, Chain):
            yield content(everybody, 0, "", *_chain_parts(chain, graph, calibration))
            channels = chain.signal.size(1)
            chain = (
                f"It has {channels} channels a node: with those of {graph.num_nodes:,} nodes the "
                f"page would weigh more than {MOST_BYTES / 1e6:.1f} MB."
            )
        yield content(everybody, 0, chain, None, _answers(probability))
    for size in _SIZES:
        nodes, centres = sample_of(graph, marked, size)
        around = _classes_around(graph, nodes, logits.argmax(1), data.num_classes)
        more = {**_answers(probability[nodes]), "around": around}
        yield content(nodes, len(centres), _SAMPLED, None, more)


def sample_of(graph: Graph, wanted: Iterable[int], size: int) -> tuple[Tensor, list[int]]:
    """So many nodes at most, ascending; and those of them that were drawn with all neighbours.

    They are the wanted ones, and then nodes drawn at random, each with all its neighbours. The same
    graph always has the same sample.
    """
    order = np.random.default_rng(0).permutation(graph.num_nodes)[:_MOST_TRIED]
    shown, centres = set(wanted), []
    for node in order.tolist():
        more = {node, *neighbours_of(graph, node).tolist()}
        if len(shown) + len(more) <= size:
            shown |= more
            centres.append(node)
    return torch.tensor(sorted(shown), dtype=torch.int64), centres


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
    """The edges among these nodes, row by row, columns ascending; undirected ones once."""
    target, source = graph.adjacency.pattern.row.long(), graph.adjacency.pattern.col.long()
    place = torch.full((graph.num_nodes,), -1)
    place[nodes] = torch.arange(len(nodes))
    row, col = place[target], place[source]
    kept = (row >= 0) & (col >= 0)
    if graph.is_symmetric:
        kept &= row > col
    row, col = row[kept], col[kept]
    # How far each is from the one before it in its row: smaller numbers than the columns are.
    gap = col.clone()
    gap[1:] -= torch.where(row[1:] == row[:-1], col[:-1], 0)
    arrays: dict[str, NDArray[Any]] = {
        "count": torch.bincount(row, minlength=len(nodes)).numpy().astype(np.uint32),
        "gap": gap.numpy().astype(np.uint32),
    }
    if graph.edge_weight is not None:
        arrays["edgeWeight"] = graph.edge_weight[kept].float().numpy()
    return arrays


def _chain_parts(
    chain: Chain, graph: Graph, calibration: Calibration
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The chain for the script: what is JSON, and what is arrays."""
    signal = whole_numbers(chain, graph, calibration)
    arrays = signal.arrays
    if chain.source is not None and chain.source.weight is not None:
        arrays["fold"] = chain.source.weight.numpy()
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
        "step": signal.step,
        "hasSource": chain.source is not None,
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
