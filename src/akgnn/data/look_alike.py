"""Random data with the sizes of others, for trying out what a step takes."""

from functools import partial

import torch
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.node_data import NodeData, numbered
from akgnn.data.splits import Split
from akgnn.graph import Graph


def look_alike(
    num_nodes: int,
    degree: float,
    num_features: int,
    num_classes: int,
    entries: int | None = None,
    labelled: int | None = None,
) -> NodeData:
    """A random undirected graph, the same every time.

    Args:
        num_nodes: Number of nodes.
        degree: Mean number of neighbours, repeated ones counted.
        num_features: Features a node.
        num_classes: Number of classes.
        entries: Features a node that are stored; None for dense ones.
        labelled: Nodes in the split, half of which train; all if None.
    """
    generator = torch.Generator().manual_seed(num_nodes)
    draw = partial(torch.randint, generator=generator)
    # Half of the directions; the other half is added.
    ends = draw(num_nodes, (2, round(num_nodes * degree / 2)))
    graph = Graph.from_edge_index(torch.cat([ends, ends.flip(0)], 1), num_nodes=num_nodes)
    # Asked now and remembered: large graphs are looked through block by block, small ones at once.
    assert graph.is_symmetric
    x: Tensor | CSR
    if entries is None:
        x = torch.rand(num_nodes, num_features, generator=generator)
    else:
        x = CSR.from_arrays(
            torch.arange(num_nodes + 1) * entries,
            (torch.arange(entries) * (num_features // entries)).repeat(num_nodes),
            torch.rand(num_nodes * entries, generator=generator),
            (num_nodes, num_features),
        )
    y = torch.arange(num_nodes) % num_classes
    chosen = torch.arange(num_nodes if labelled is None else labelled)
    # Published splits need no training node of every class.
    split = Split("small", chosen[::2], chosen[1::2], chosen[:0], is_published=True)
    return NodeData("small", x, y, graph, split, numbered(num_classes))
