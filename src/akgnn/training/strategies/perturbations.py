"""Where perturbations of features lie, how they begin, and how long they are."""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from akgnn.graph import Graph
from akgnn.hashing import Key
from akgnn.ops.dropout import hashed, hashed_at

_NUMBERS_AT_ONCE = 2**16
# Normal numbers lie within two standard deviations with this probability, erf(√2).
_WITHIN_TWO = 0.9544997361036416


def spread_nodes(graph: Graph, number: int, hops: int, key: Key) -> tuple[Tensor, Tensor]:
    """Random nodes whose receptive fields, the nodes within `hops` steps, do not overlap.

    A greedy draw that gives up after four times as many candidates as nodes are asked for.

    Returns:
        The nodes, and for every node of the graph the number of the field it lies in, or -1.
    """
    order = torch.argsort(hashed(graph.num_nodes, key, graph.device)).tolist()
    rowptr = graph.adjacency.pattern.rowptr.tolist()
    col = graph.adjacency.pattern.col.tolist()
    member_of = [-1] * graph.num_nodes
    chosen: list[int] = []
    for node in order[: 4 * number]:
        field = {node}
        frontier = {node}
        for _ in range(hops):
            frontier = {u for v in frontier for u in col[rowptr[v] : rowptr[v + 1]]} - field
            field |= frontier
        if all(member_of[member] < 0 for member in field):
            for member in field:
                member_of[member] = len(chosen)
            chosen.append(node)
        if len(chosen) == number:
            break
    device = graph.device
    return torch.tensor(chosen, device=device), torch.tensor(member_of, device=device)


def unit_fields(gradient: Tensor, field: Tensor, number: int) -> Tensor:
    """The gradient scaled to length 1 within each receptive field.

    Args:
        gradient: One row a node.
        field: The number of the field that each row lies in.
        number: Number of fields.
    """
    squares = gradient.square().sum(1)
    length = squares.new_zeros(number).index_add_(0, field, squares).sqrt()
    return (1 / length.clamp_min(1e-30))[field].unsqueeze(1) * gradient


def random_directions(rows: Tensor, num_nodes: int, weight: Tensor, key: Key) -> Tensor:
    """A random direction of length 1 for the features of each row's node.

    Two hashes make a normal number by Box and Muller's formula. A node has the same direction
    whatever other rows there are.

    Args:
        rows: Numbers of the nodes.
        num_nodes: Number of nodes of the graph.
        weight: Weight of the first layer, for the number of features and the dtype.
        key: From `Noise.key`.
    """
    width = weight.size(0)
    out = torch.empty(len(rows), width, dtype=weight.dtype, device=weight.device)
    channel = torch.arange(width, device=weight.device)
    for block in _blocks(out):
        indices = rows[block].unsqueeze(1) * width + channel
        first, second = (
            _uniform(half, key, out.dtype) for half in (indices, indices + num_nodes * width)
        )
        radius = first.log_().mul_(-2).sqrt_()
        out[block] = F.normalize(radius.mul_(second.mul_(2 * torch.pi).cos_()), dim=1)
    return out


def small_numbers(num_nodes: int, weight: Tensor, deviation: float, key: Key) -> Tensor:
    """Normal numbers for the features of all nodes, none further from 0 than 2 · `deviation`.

    Args:
        num_nodes: Number of nodes of the graph.
        weight: Weight of the first layer, for the number of features and the dtype.
        deviation: Standard deviation of the normal numbers of which the far ones are left out;
            that of the others is 0.88 times as large.
        key: From `Noise.key`.
    """
    width = weight.size(0)
    out = torch.empty(num_nodes, width, dtype=weight.dtype, device=weight.device)
    for block in _blocks(out):
        indices = torch.arange(block.start * width, block.stop * width, device=out.device)
        # The inverse of the distribution function, on the part between its two ends.
        part = _uniform(indices, key, out.dtype).mul_(2).sub_(1).mul_(_WITHIN_TWO).erfinv_()
        out[block] = part.mul_(2**0.5 * deviation).view(-1, width)
    return out


def _blocks(out: Tensor) -> Iterator[slice]:
    """Blocks of rows, so small that words and numbers never leave a CPU's cache."""
    rows, width = out.shape
    size = max(1, _NUMBERS_AT_ONCE // width) if out.device.type == "cpu" else max(1, rows)
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def _uniform(indices: Tensor, key: Key, dtype: torch.dtype) -> Tensor:
    """Numbers evenly above 0, to 1."""
    return hashed_at(indices, key).bitwise_and_(2**24 - 1).to(dtype).add_(0.5).div_(2**24)
