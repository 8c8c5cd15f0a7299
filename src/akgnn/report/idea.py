"""The idea in one figure: what one layer makes a node's new value of, at four values of its scalar.

Every node of the small graph has three neighbours, so that the sizes of the shares add up to one.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from akgnn.graph import Graph
from akgnn.layers.kernels import KERNELS
from akgnn.ops.adaptive import adaptive_propagate

ABOUT = "What a node’s new value is made of, in per cent"
# Of each drawing.
WIDTH, HEIGHT = 240, 214
# Two groups of four, with a link above and one below between them.
_PLACES = ((80, 84), (32, 136), (98, 136), (80, 188), (160, 84), (208, 136), (142, 136), (160, 188))
_GROUP = ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3))
_LINKS = (*_GROUP, *((i + 4, j + 4) for i, j in _GROUP), (0, 4), (3, 7))
_RINGED = 0
_SHOWN = (
    ("paper", 1.0, "neighbours only"),
    ("paper", 2.0, "GCN: all alike"),
    ("paper", 6.0, "mostly itself"),
    ("signed", -1.0, "neighbours subtracted"),
)


@dataclass(frozen=True)
class Circle:
    """A node: its place, and the share that it has in the ringed node's new value."""

    x: int
    y: int
    share: float
    is_ringed: bool

    @property
    def is_heard(self) -> bool:
        """Whether the layer lets the ringed node hear it, or whether it is that node."""
        return self.is_ringed or self.share != 0

    @property
    def text(self) -> str:
        """The share in per cent."""
        return f"{100 * self.share:.0f}".replace("-", "−")

    @property
    def shade(self) -> float:
        """How strong its colour is: even a small share is seen, and text on a large one is read."""
        return round(0.12 + 0.55 * abs(self.share), 2) if self.share else 0.0


@dataclass(frozen=True)
class Link:
    """An edge between two circles, and whether the ringed node hears through it."""

    first: Circle
    second: Circle

    @property
    def share(self) -> float:
        """What comes over it; 0 for a link that the ringed node does not have."""
        ends = (self.first, self.second)
        return sum(end.share for end in ends if not end.is_ringed) * any(e.is_ringed for e in ends)


@dataclass(frozen=True)
class Drawing:
    """The graph at one value of the scalar."""

    scalar: str
    words: str
    circles: tuple[Circle, ...]
    links: tuple[Link, ...]

    @property
    def summary(self) -> str:
        """For those who cannot see it."""
        own = next(circle.text for circle in self.circles if circle.is_ringed)
        others = [c.text for c in self.circles if c.is_heard and not c.is_ringed]
        return (
            f"At {self.scalar}, {self.words}: {own} per cent of the node itself and {others[0]} "
            f"of each of its {len(others)} neighbours."
        )


@cache
def drawings() -> tuple[Drawing, ...]:
    """The graph at every value that is shown, computed by akgnn's own kernels and product."""
    pairs = torch.tensor([*_LINKS, *((j, i) for i, j in _LINKS)]).T
    graph = Graph.from_edge_index(pairs, num_nodes=len(_PLACES))
    return tuple(_drawing(graph, *shown) for shown in _SHOWN)


def _drawing(graph: Graph, name: str, scalar: float, words: str) -> Drawing:
    kernel = KERNELS[name]
    phi = torch.tensor(kernel.phi_of(scalar), dtype=torch.float64)
    # Signals of which each is 1 at one node show a node's new value as a sum over the old ones.
    signals = torch.eye(graph.num_nodes, dtype=torch.float64)
    with torch.no_grad():
        weights = kernel.weights(phi, graph.mean_degree)
        shares = adaptive_propagate(graph, signals, *weights)[_RINGED].tolist()
    circles = tuple(
        Circle(x, y, round(share, 6), node == _RINGED)
        for node, ((x, y), share) in enumerate(zip(_PLACES, shares, strict=True))
    )
    links = tuple(Link(circles[i], circles[j]) for i, j in _LINKS)
    return Drawing(f"{kernel.symbol} = {scalar:g}".replace("-", "−"), words, circles, links)


def idea_shown() -> dict[str, Any]:
    """What the templates of the figure are shown."""
    return {"about": ABOUT, "drawings": drawings(), "size": (WIDTH, HEIGHT)}
