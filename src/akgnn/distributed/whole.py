"""The whole graph from its parts, in the order of the original ids."""

import torch
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split
from akgnn.distributed.parts import Part, Parts
from akgnn.graph import Graph


def whole_data(parts: Parts) -> NodeData:
    """The data that were cut; they have to fit into memory."""
    facts = parts.facts
    own = [parts.part(index) for index in range(facts.num_parts)]
    ids = torch.cat([part.ids for part in own])
    order = ids.argsort()
    source = ids[torch.cat([part.col for part in own]).long()]
    target = torch.cat([part.ids.repeat_interleave(part.rowptr.diff()) for part in own])
    weights = [part.value for part in own if part.value is not None]
    graph = Graph.from_edge_index(
        torch.stack([source, target]),
        torch.cat(weights) if weights else None,
        num_nodes=facts.num_nodes,
    )
    split = Split(
        facts.split_name,
        _nodes(own, "train"),
        _nodes(own, "val"),
        _nodes(own, "test"),
        is_published=facts.is_published,
        chooses_on_train=facts.chooses_on_train,
    )
    return NodeData(
        facts.name,
        _features(own, order),
        torch.cat([part.y for part in own])[order],
        graph,
        split,
        facts.class_names,
        facts.source,
        recipe=facts.recipe,
    )


def _nodes(own: list[Part], name: str) -> Tensor:
    return torch.cat([part.ids[getattr(part.split, name)] for part in own])


def _features(own: list[Part], order: Tensor) -> Tensor | CSR:
    dense = [part.x for part in own if isinstance(part.x, Tensor)]
    if dense:
        return torch.cat(dense)[order]
    sparse = [part.x for part in own if isinstance(part.x, CSR)]
    col = torch.cat([x.pattern.col for x in sparse])
    counts = torch.cat([x.pattern.rowptr.diff() for x in sparse])
    first = counts.cumsum(0) - counts
    sizes = counts[order]
    rowptr = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    # The entries of each row, in the new order of the rows.
    entries = torch.arange(len(col)) + (first[order] - rowptr[:-1]).repeat_interleave(sizes)
    values = [x.value for x in sparse if x.value is not None]
    value = torch.cat(values)[entries] if values else None
    return CSR.from_arrays(rowptr, col[entries], value, (len(order), sparse[0].shape[1]))
