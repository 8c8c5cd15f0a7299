"""Where the scalars of adaptive kernels stand: layer, way along the edges, group of channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from akgnn.layers.kernels import find_kernel
from akgnn.models.akgnn import AKGNNSettings
from akgnn.training.plan import RunPlan

Way = Literal["", "in", "out"]


@dataclass(frozen=True)
class Place:
    """The place of one scalar.

    Attributes:
        layer: Counted from 1.
        way: Over `in`- or `out`-neighbours; empty where a layer does not tell them apart.
        group: Of the layer's channels, counted from 1; 0 where there is one for all.
    """

    layer: int
    way: Way = ""
    group: int = 0

    @property
    def text(self) -> str:
        """As people read it: layer 2, in, group 3."""
        group = f"group {self.group}" if self.group else ""
        return ", ".join(filter(None, (f"layer {self.layer}", self.way, group)))

    @property
    def strand(self) -> tuple[Way, int]:
        """What the places of a signal have in common on its way through the layers."""
        return self.way, self.group


def places_of_layer(layer: int, *, is_directed: bool, groups: int) -> list[Place]:
    """The places of one layer in the order of φ."""
    ways: tuple[Way, ...] = ("in", "out") if is_directed else ("",)
    numbers = range(1, groups + 1) if groups > 1 else (0,)
    return [Place(layer, way, group) for way in ways for group in numbers]


def places_of(plan: RunPlan) -> list[Place]:
    """The places of a run's scalars, in the order of `lambda_max` and `neighbour_share`.

    Empty for a model without adaptive kernels.
    """
    settings = plan.preset.model
    if not isinstance(settings, AKGNNSettings):
        return []
    is_directed = settings.normalisation == "directed"
    layers = range(1, settings.num_layers + 1)
    return [
        place
        for layer in layers
        for place in places_of_layer(layer, is_directed=is_directed, groups=settings.groups)
    ]


def scalars_of(plan: RunPlan, lambda_max: Sequence[float], shares: Sequence[float]) -> list[float]:
    """λ or τ at each place of a run that keeps its λ and its shares of neighbours.

    Empty where they do not tell: for a model without kernels, an old run, a kernel of one's own.
    """
    places, settings = places_of(plan), plan.preset.model
    if not isinstance(settings, AKGNNSettings) or lambda_max:
        return list(lambda_max)
    if len(shares) != len(places):
        return []
    kernel = find_kernel(settings.kernel)
    own = _own_shares(places, shares)
    values = [kernel.scalar_of_share(*pair) for pair in zip(shares, own, strict=True)]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


def symbol_of(plan: RunPlan) -> str:
    """How the kernels' scalar is written; empty for a model without."""
    settings = plan.preset.model
    return find_kernel(settings.kernel).symbol if isinstance(settings, AKGNNSettings) else ""


def by_strand(
    places: Sequence[Place], values: Sequence[float]
) -> dict[tuple[Way, int], list[float]]:
    """Values of places, one list through all layers for each way and group."""
    found: dict[tuple[Way, int], list[float]] = {}
    for place, value in zip(places, values, strict=True):
        found.setdefault(place.strand, []).append(value)
    return found


def by_layer(places: Sequence[Place]) -> dict[str, list[int]]:
    """The numbers of the places of each layer and way, by its text; groups go together."""
    found: dict[str, list[int]] = {}
    for number, place in enumerate(places):
        found.setdefault(Place(place.layer, place.way).text, []).append(number)
    return found


def _own_shares(places: Sequence[Place], shares: Sequence[float]) -> list[float]:
    """What a node keeps of itself at each place; the two ways of a layer take from it together."""
    taken: dict[tuple[int, int], float] = {}
    for place, share in zip(places, shares, strict=True):
        key = place.layer, place.group
        taken[key] = taken.get(key, 0.0) + abs(share)
    return [1 - taken[place.layer, place.group] for place in places]
