"""Specs: a table or figure as data, with its grid, its seeds and the published values."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from akgnn.data.catalogue import Direction, FeatureTransform, graph_name
from akgnn.data.noise import NoiseSettings
from akgnn.experiments.boosting import is_boosting
from akgnn.runs.plan import RunPlan

SHOWN = ["table", "loss", "lambda", "depth", "homophily", "varied", "training"]
"""How a page can show a spec."""
# Stands in the name of a data set or of a split for the number of the draw.
DRAW_SIGN = "#"
SPLIT = "split"
NOISE = tuple(name for name in NoiseSettings.names() if name != "seed")
"""What a grid may vary beside settings: the split, and noise in the data."""


@dataclass(frozen=True)
class Published:
    """A value printed in a paper, in per cent, with its deviation where one is printed."""

    mean: float
    std: float | None = None


@dataclass(frozen=True)
class Row:
    """One line of a table or one curve of a figure: a model with its settings.

    The label is what the paper calls it, `changes` are from the preset, published values go by data
    set, and `about` tells readers how it differs from the paper's.

    A row that `chooses` has neither model nor preset: for each seed it is whichever of the rows of
    these labels is best on the validation nodes. A row that `tries` settings is, for each seed,
    whichever of them is best there: a search with a budget that the spec tells.
    """

    label: str
    model: str
    preset: str
    changes: Mapping[str, Any]
    seeds: int
    published: Mapping[str, Published]
    about: str
    direction: Direction = "symmetrised"
    features: FeatureTransform = "auto"
    chooses: tuple[str, ...] = ()
    tries: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Cell:
    """A row on one data set at one point of the grid: what several seeds are averaged over.

    Attributes:
        point: The values of the settings that the spec varies; the split may be among them.
        template: The plan of seed 0, with the sign `#` where the draw goes.
        splits: Whether draw i also draws random split i.
        draws: The runs go round so many draws; None where each seed is a draw of its own.
        metric: Which metric of the records is the result.
        among: The cells that validation chooses among, of a row that chooses or tries. A row that
            chooses has no runs of its own. The template is that of the first.
    """

    row: Row
    dataset: str
    point: Mapping[str, Any]
    template: RunPlan
    splits: bool
    draws: int | None = None
    metric: str = "accuracy"
    among: tuple["Cell", ...] = ()

    def plan(self, seed: int) -> RunPlan:
        """The plan of one seed."""
        run = self.template.run
        draw = seed if self.draws is None else seed % self.draws
        named = replace(
            run,
            dataset=_of_draw(run.dataset, draw),
            split=None if run.split is None else _of_draw(run.split, draw),
            split_seed=draw if self.splits else run.split_seed,
            seed=seed,
        )
        return replace(self.template, run=named)

    def plans(self, seeds: int | None = None) -> list[RunPlan]:
        """The plans of so many seeds, or of as many as the spec says; none where it chooses."""
        if self.row.tries:
            return [plan for cell in self.among for plan in cell.plans(seeds)]
        if self.among:
            return []
        return [self.plan(seed) for seed in range(seeds or self.row.seeds)]

    @property
    def published(self) -> Published | None:
        """What the paper prints for this cell."""
        return self.row.published.get(self.dataset)

    @property
    def changes(self) -> dict[str, Any]:
        """Everything that differs from the preset."""
        return {**self.row.changes, **settings_in(self.point)}

    def command(self, seeds: int) -> str:
        """The command line that trains the same runs, for one seed S and its draw G or for all.

        What is no network has none of its own, nor has a row that chooses among others.
        """
        if self.among or is_boosting(self.template):
            return "akgnn reproduce, with the rest of the study"
        run = self.template.run
        words = [f"akgnn train --dataset {_of_draw(run.dataset, 'G')} --model {self.row.model}"]
        if self.row.preset != "paper":
            words.append(f"--preset {self.row.preset}")
        if run.direction != "symmetrised":
            words.append(f"--direction {run.direction}")
        if run.features != "auto":
            words.append(f"--features {run.features}")
        words += [f"--set {name}={_as_text(value)}" for name, value in self.changes.items()]
        if run.split is not None:
            words.append(f"--split {_of_draw(run.split, 'G')}")
        if self.splits:
            words.append(f"--split-seed {'S' if self.draws is None else 'G'}")
        if not (self.splits or DRAW_SIGN in f"{run.dataset}{run.split}"):
            return " ".join([*words, f"--seeds {seeds}"])
        explained = [] if self.draws is None else [f" # G is S mod {self.draws}"]
        return " ".join([*words, "--seed S", *explained])


@dataclass(frozen=True)
class Spec:
    """A table or figure to measure, by rows, then data sets, then the grid.

    `shows` is in `SHOWN`. The runs of a search choose settings: they have no test nodes to look at.
    """

    name: str
    title: str
    about: str
    shows: str
    keeps_history: bool
    is_search: bool
    cells: tuple[Cell, ...]

    @property
    def rows(self) -> list[Row]:
        """The rows, each once."""
        return [row for row, _ in itertools.groupby(cell.row for cell in self.cells)]

    @property
    def datasets(self) -> list[str]:
        """The data sets, each once."""
        return list(dict.fromkeys(cell.dataset for cell in self.cells))


def settings_in(point: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the preset among what a point of the grid varies."""
    return {name: value for name, value in point.items() if name not in (SPLIT, *NOISE)}


def shown_name(dataset: str) -> str:
    """A data set's name for readers, without the setting that only tells draws apart."""
    name, colon, options = dataset.partition(":")
    kept = ",".join(option for option in options.split(",") if DRAW_SIGN not in option)
    if kept.startswith("homophily=") and "," not in kept:
        return kept.replace("=", " ")
    return graph_name(f"{name}{colon}{kept}" if kept else name)


def _of_draw(text: str, draw: int | str) -> str:
    return text.replace(DRAW_SIGN, str(draw))


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
