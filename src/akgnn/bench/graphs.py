"""Random undirected graphs to measure on: quick to draw, on any device, up to 10^9 edges.

Nodes are numbered at random in both, so that neighbours lie far apart in memory.
"""

import math
from collections.abc import Callable

import torch

from akgnn.csr import CSR, Pattern, rowptr_from_rows
from akgnn.errors import SettingsError
from akgnn.graph import Graph

# Neighbours that are sorted at a time.
_BLOCK = 2**24
# What share of all nodes the largest node of a power-law graph is linked with.
HUB_SHARE = 0.1


def even_graph(num_nodes: int, degree: int, generator: torch.Generator) -> Graph:
    """A graph in which every node has the same degree, an even number.

    It is a circulant graph, node i linked with i ± s for degree / 2 random steps s, under random
    names. So each row is known by itself and nothing of the size of the graph must be sorted.
    """
    device = generator.device
    farthest = (num_nodes - 1) // 2
    steps = torch.randperm(farthest, generator=generator, device=device)[: degree // 2] + 1
    steps = torch.cat([steps, -steps])
    name = torch.randperm(num_nodes, generator=generator, device=device)
    place = torch.empty_like(name)
    place[name] = torch.arange(num_nodes, device=device)
    narrow = name.to(torch.int32) if num_nodes < 2**31 else name
    col = torch.empty(num_nodes * degree, dtype=narrow.dtype, device=device)
    rows = max(1, _BLOCK // degree)
    for first in range(0, num_nodes, rows):
        places = (place[first : first + rows, None] + steps).remainder_(num_nodes)
        block = narrow[places].sort(dim=1).values
        col[first * degree : first * degree + block.numel()] = block.view(-1)
    rowptr = torch.arange(0, num_nodes * degree + 1, degree, device=device)
    return Graph(CSR(Pattern(rowptr, col, (num_nodes, num_nodes))))


def power_law_graph(num_nodes: int, degree: int, generator: torch.Generator) -> Graph:
    """A graph whose largest node is linked with about a tenth of all nodes.

    One end of each edge is drawn evenly and the other by a power law: the chance to be among the
    x first of n nodes is (x / n)^b, with b such that the first is drawn n / 10 times. Repeated
    edges are one edge, so the mean degree is a few per cent below the one asked for.
    """
    # n · degree / 2 draws, each of the first node with chance n^-b, are to give n / 10.
    power = math.log(degree / (2 * HUB_SHARE)) / math.log(num_nodes)
    half = num_nodes * degree // 2
    device = generator.device
    chance = torch.rand(half, generator=generator, device=device, dtype=torch.float64)
    first = chance.pow_(1 / power).mul_(num_nodes).long().clamp_(max=num_nodes - 1)
    del chance
    first = torch.randperm(num_nodes, generator=generator, device=device)[first]
    second = torch.randint(num_nodes, (half,), generator=generator, device=device)
    is_loop = first == second
    key = torch.cat([first * num_nodes + second, second * num_nodes + first])
    del first, second
    key = torch.unique(key[~is_loop.repeat(2)])
    rowptr = rowptr_from_rows(key // num_nodes, num_nodes)
    return Graph(CSR(Pattern(rowptr, key.remainder_(num_nodes), (num_nodes, num_nodes))))


GRAPHS: dict[str, Callable[[int, int, torch.Generator], Graph]] = {
    "even": even_graph,
    "power-law": power_law_graph,
}


def check_size(kind: str, num_edges: int, degree: int) -> None:
    """Refuse what no graph of this kind can have."""
    if degree < 2 or degree % 2:
        raise SettingsError(f"The mean degree must be an even number from 2 on, got {degree}.")
    # Distinct steps around a circle; a hub that is drawn more often than any other node.
    fewest = degree + 1 if kind == "even" else int(degree / (2 * HUB_SHARE)) + 1
    if num_edges < fewest * degree:
        raise SettingsError(
            f"A graph of degrees {kind} and mean degree {degree} needs at least "
            f"{fewest * degree} edges, got {num_edges}."
        )
