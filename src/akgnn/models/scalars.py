"""Where the scalars of adaptive kernels stand: layer, direction of the edges, group of channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from akgnn.layers.kernels import find_kernel
from akgnn.models.adaptive_network import AKGNNSettings
from akgnn.settings import Settings

Direction = Literal["", "in", "out"]


@dataclass(frozen=True)
class Position:
    """The position of one scalar.

    Attributes:
        layer: Counted from 1.
        direction: Over `in`- or `out`-neighbours; empty where a layer does not tell them apart.
        group: Which group of the layer's channels, from 1 on; 0 where there is one for all.
    """

    layer: int
    direction: Direction = ""
    group: int = 0

    @property
    def text(self) -> str:
        """As people read it: layer 2, in, group 3."""
        group = f"group {self.group}" if self.group else ""
        return ", ".join(filter(None, (f"layer {self.layer}", self.direction, group)))

    @property
    def strand(self) -> tuple[Direction, int]:
        """What the positions of a signal have in common through the layers."""
        return self.direction, self.group


def positions_of_layer(layer: int, *, is_directed: bool, groups: int) -> list[Position]:
    """The positions of one layer in the order of φ."""
    directions: tuple[Direction, ...] = ("in", "out") if is_directed else ("",)
    numbers = range(1, groups + 1) if groups > 1 else (0,)
    return [Position(layer, direction, group) for direction in directions for group in numbers]


def positions_of(settings: Settings) -> list[Position]:
    """The positions of a run's scalars, in the order of `lambda_max` and `neighbour_share`.

    Empty for a model without adaptive kernels.
    """
    if not isinstance(settings, AKGNNSettings):
        return []
    is_directed = settings.normalisation == "directed"
    layers = range(1, settings.num_layers + 1)
    return [
        position
        for layer in layers
        for position in positions_of_layer(layer, is_directed=is_directed, groups=settings.groups)
    ]


def scalars_of(
    settings: Settings, lambda_max: Sequence[float], shares: Sequence[float]
) -> list[float]:
    """λ or τ at each position of a run that keeps its λ and its shares of neighbours.

    Empty where they do not tell: for a model without kernels, an old run, a kernel of one's own.
    """
    positions = positions_of(settings)
    if not isinstance(settings, AKGNNSettings) or lambda_max:
        return list(lambda_max)
    if len(shares) != len(positions):
        return []
    kernel = find_kernel(settings.kernel)
    own = _own_shares(positions, shares)
    values = [kernel.scalar_of_share(*pair) for pair in zip(shares, own, strict=True)]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


def symbol_of(settings: Settings) -> str:
    """How the kernels' scalar is written; empty for a model without."""
    return find_kernel(settings.kernel).symbol if isinstance(settings, AKGNNSettings) else ""


def by_strand(
    positions: Sequence[Position], values: Sequence[float]
) -> dict[tuple[Direction, int], list[float]]:
    """Values of positions, one list through all layers for each direction and group."""
    found: dict[tuple[Direction, int], list[float]] = {}
    for position, value in zip(positions, values, strict=True):
        found.setdefault(position.strand, []).append(value)
    return found


def by_layer(positions: Sequence[Position]) -> dict[str, list[int]]:
    """The numbers of the positions of each layer and direction, by its text; groups go together."""
    found: dict[str, list[int]] = {}
    for number, position in enumerate(positions):
        found.setdefault(Position(position.layer, position.direction).text, []).append(number)
    return found


def _own_shares(positions: Sequence[Position], shares: Sequence[float]) -> list[float]:
    """What a node keeps of itself at each position; both directions of a layer take from it."""
    taken: dict[tuple[int, int], float] = {}
    for position, share in zip(positions, shares, strict=True):
        key = position.layer, position.group
        taken[key] = taken.get(key, 0.0) + abs(share)
    return [1 - taken[position.layer, position.group] for position in positions]
