"""Ways to cut a graph: which part each node goes to.

The work of a node is its number of neighbours, whose values a product adds up, plus the mean of
that number, for what is done once a node. Cuts that know the graph make parts of equal work, not of
equal numbers of nodes: on a graph with hubs these differ several times over.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import numpy as np
import torch
from torch import Tensor

from akgnn.errors import MissingExtraError, SettingsError, UnknownNameError
from akgnn.graph import Graph
from akgnn.hashing import mix, words_

MOST_PARTS = 10_000
"""Each has a folder with a dozen files."""
_SEED = 1
_HASH_KEY = mix(_SEED)


def cut_graph(graph: Graph, num_parts: int, cut: str) -> Tensor:
    """The part of each node, int64; no part is without nodes.

    Args:
        graph: The graph.
        num_parts: Number of parts.
        cut: `metis` cuts few edges, and needs the graph in memory several times over; `order` takes
            nodes as they are numbered; `hash` deals them out at random, the same every time.

    Raises:
        SettingsError: There are not so many nodes, or more parts than a folder should have.
        UnknownNameError: There is no such cut.
        MissingExtraError: `metis` was asked for, and pymetis is not installed.
    """
    if cut not in CUTS:
        raise UnknownNameError("cut", cut, CUTS)
    check_num_parts(num_parts, graph.num_nodes)
    owner = CUTS[cut](graph.to("cpu"), num_parts)
    return _without_empty_parts(owner, num_parts)


def check_num_parts(num_parts: int, num_nodes: int | None = None) -> None:
    """Refuse numbers of parts that cannot be.

    Raises:
        SettingsError: It cannot.
    """
    if not 1 <= num_parts <= MOST_PARTS:
        raise SettingsError(f"`parts` must be from 1 to {MOST_PARTS:,}, got {num_parts}.")
    if num_nodes is not None and num_parts > num_nodes:
        raise SettingsError(
            f"`parts={num_parts}` is more than the graph has nodes, {num_nodes}; "
            "each part needs one at least."
        )


def has_metis() -> bool:
    """Whether pymetis is installed."""
    return find_spec("pymetis") is not None


def work_of(graph: Graph) -> Tensor:
    """The work of each node, float64: the mean of its in- and out-neighbours, and the mean."""
    pattern = graph.adjacency.pattern
    count = pattern.rowptr.diff().double()
    if not graph.is_symmetric:
        count = (count + graph.transpose.adjacency.pattern.rowptr.diff()) / 2
    # Without edges all nodes are alike.
    return count + (graph.num_edges / graph.num_nodes or 1.0)


def _order(graph: Graph, num_parts: int) -> Tensor:
    """Nodes as they are numbered, a new part whenever one has its share of the work."""
    done = work_of(graph).cumsum(0)
    shares = done[-1] * torch.arange(1, num_parts, dtype=torch.float64) / num_parts
    stops = torch.searchsorted(done, shares)
    # A hub may be worth several parts; each still gets a node.
    step = torch.arange(num_parts - 1)
    stops = torch.maximum((stops - step).cummax(0).values + step, step + 1)
    stops = torch.minimum(stops, graph.num_nodes - (num_parts - 1) + step)
    return torch.searchsorted(stops, torch.arange(graph.num_nodes), right=True)


def _hash(graph: Graph, num_parts: int) -> Tensor:
    words = words_(torch.arange(graph.num_nodes), _HASH_KEY)
    return words.remainder_(num_parts)


def _metis(graph: Graph, num_parts: int) -> Tensor:
    """METIS on the undirected graph, whose weights of edges do not count: rows are sent whole."""
    try:
        import pymetis
    except ImportError as error:
        raise MissingExtraError("The cut metis", "cut") from error
    if num_parts == 1:
        return torch.zeros(graph.num_nodes, dtype=torch.int64)
    pattern = graph.symmetrised().adjacency.pattern
    rowptr, col = (a.numpy().astype(np.int64) for a in (pattern.rowptr, pattern.col))
    work = work_of(graph).round().long().clamp_(min=1).numpy()
    with _quiet():
        result = pymetis.part_graph(
            num_parts,
            pymetis.CSRAdjacency(rowptr, col),
            vweights=work,
            options=pymetis.Options(seed=_SEED),
        )
    return torch.from_numpy(np.asarray(result.vertex_part, dtype=np.int64))


@contextmanager
def _quiet() -> Iterator[None]:
    """Inside, what METIS prints is lost: it complains on standard output, which may be JSON."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        if os.name == "posix":
            ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _without_empty_parts(owner: Tensor, num_parts: int) -> Tensor:
    """Give each part without nodes the last node of the part that has most."""
    sizes = torch.bincount(owner, minlength=num_parts)
    for part in (sizes == 0).nonzero().view(-1).tolist():
        largest = int(sizes.argmax())
        owner[(owner == largest).nonzero()[-1]] = part
        sizes[largest] -= 1
        sizes[part] += 1
    return owner


CUTS: dict[str, Callable[[Graph, int], Tensor]] = {"metis": _metis, "order": _order, "hash": _hash}
"""What makes a cut, by its name."""
