"""Which cases a benchmark has."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from akgnn.bench.epochs import DATASETS, EpochPlan
from akgnn.bench.graphs import GRAPHS
from akgnn.bench.layer_case import LayerPlan
from akgnn.bench.record import Suite
from akgnn.bench.run import Plan

SUITES = ("layer", "epoch", "growth")
DTYPES = ("float32", "bfloat16", "float16", "float64")
# Four orders of magnitude.
_GROWTH_EDGES = tuple(10**power for power in range(4, 9))


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What was asked for of the random graphs and their signals; None for the suite's own.

    Attributes:
        edges: Of the graphs, both directions counted.
        mean_degree: Of the graphs.
        degrees: Kinds of graph.
        channels: Width of the signals.
        dtypes: Of the signals.
    """

    edges: Sequence[int] | None = None
    mean_degree: int | None = None
    degrees: Sequence[str] | None = None
    channels: int = 64
    dtypes: Sequence[str] = ("float32",)


def plans_of(suites: Sequence[str], sizes: Sizes) -> list[Plan]:
    """The cases of some suites, in the order of `SUITES`."""
    plans: list[Plan] = []
    if "layer" in suites:
        plans += _layers(sizes, "layer", edges=(2_000_000,), mean_degree=10, degrees=tuple(GRAPHS))
    if "epoch" in suites:
        plans += [EpochPlan(dataset) for dataset in DATASETS]
    if "growth" in suites:
        plans += _layers(sizes, "growth", edges=_GROWTH_EDGES, mean_degree=20, degrees=("even",))
    return plans


def _layers(
    sizes: Sizes,
    suite: Suite,
    *,
    edges: Sequence[int],
    mean_degree: int,
    degrees: Sequence[str],
) -> list[LayerPlan]:
    return [
        LayerPlan(
            graph=kind,
            num_edges=number,
            mean_degree=mean_degree if sizes.mean_degree is None else sizes.mean_degree,
            channels=sizes.channels,
            dtype=dtype,
            suite=suite,
        )
        for kind, dtype, number in product(
            sizes.degrees or degrees, sizes.dtypes, sizes.edges or edges
        )
    ]
