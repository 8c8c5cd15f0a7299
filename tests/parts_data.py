"""Small data sets of every kind, and ways to cut them."""

from dataclasses import replace

import torch
from torch import Tensor

from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split
from akgnn.distributed.parts import Part, arrays_of
from oracles import random_graph, sparse

KINDS = ("dense", "sparse", "sparse of ones", "weighted", "directed", "weighted and directed")


def small_data(kind: str, *, num_nodes: int = 40) -> NodeData:
    """Data whose last two nodes have no edges, with three classes and nodes without one."""
    generator = torch.Generator().manual_seed(7)
    graph = random_graph(
        3,
        num_nodes=num_nodes,
        num_edges=3 * num_nodes,
        weighted="weighted" in kind,
        directed="directed" in kind,
    )
    x: Tensor = torch.randn(num_nodes, 5, generator=generator)
    if "sparse" in kind:
        x = x * (torch.rand(x.shape, generator=generator) < 0.4)
    y = torch.arange(num_nodes) % 3
    y[5::7] = -1
    labelled = (y >= 0).nonzero().view(-1)
    labelled = labelled[torch.randperm(len(labelled), generator=generator)]
    split = Split("drawn", labelled[:9], labelled[9:15], labelled[15:25])
    data = NodeData(kind, x, y, graph, split, ("a", "b", "c"), {"origin": "a test"})
    if "sparse" not in kind:
        return data
    matrix = sparse(x)
    return replace(data, x=replace(matrix, value=None) if "ones" in kind else matrix)


def some_owner(num_nodes: int, parts: int = 4) -> Tensor:
    """A cut whose last part has one node."""
    generator = torch.Generator().manual_seed(5)
    owner = torch.randint(parts - 1, (num_nodes,), generator=generator)
    owner[: parts - 1] = torch.arange(parts - 1)
    owner[num_nodes // 2] = parts - 1
    return owner


def assert_same_part(one: Part, other: Part) -> None:
    """Equal arrays of equal types."""
    assert one.index == other.index
    assert one.split.name == other.split.name
    first, second = arrays_of(one), arrays_of(other)
    assert list(first) == list(second)
    for name, values in first.items():
        assert values.dtype == second[name].dtype, name
        assert torch.equal(values, second[name]), name
