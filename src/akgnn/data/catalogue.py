"""Every data set by its name: bundled, generated, from files, and PyG's."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar, get_args

import torch
from torch import Tensor

from akgnn.data.bundled import SHA256, load_bundled
from akgnn.data.filtered import FILES, load_filtered
from akgnn.data.generated import BlockModelSettings, block_model
from akgnn.data.large import LargeGraphSettings, large_graph
from akgnn.data.node_data import NodeData
from akgnn.data.pyg import PYG_SOURCES, load_pyg
from akgnn.data.splits import Split, split_by_folds, split_by_fraction, split_per_class
from akgnn.data.transforms import row_normalise
from akgnn.errors import DataError, SettingsError, UnknownNameError
from akgnn.settings import Settings

BUNDLED = tuple(SHA256)
_GENERATED: dict[str, type[Settings]] = {"csbm": BlockModelSettings, "large": LargeGraphSettings}
GENERATED = tuple(_GENERATED)
FILTERED = tuple(FILES)
DIRECTED = (*FILTERED, *(name for name, source in PYG_SOURCES.items() if source.is_directed))
# The ways to write a split.
_PER_CLASS, _SHARES, _PUBLISHED = r"(\d+)-per-class", r"(\d+)/(\d+)/(\d+)", r"public(?:-(\d+))?"
_FOLD = r"fold-(\d+)-of-(\d+)"

# How the field writes the names of its graphs.
_WRITTEN = {
    "cora": "Cora",
    "citeseer": "CiteSeer",
    "pubmed": "PubMed",
    "chameleon-filtered": "Chameleon, filtered",
    "squirrel-filtered": "Squirrel, filtered",
    "actor": "Actor",
    "amazon-ratings": "Amazon Ratings",
    "computers": "Computers",
    "cora-ml": "Cora ML",
    "cornell": "Cornell",
    "cs": "CS",
    "dblp": "DBLP",
    "minesweeper": "Minesweeper",
    "photo": "Photo",
    "physics": "Physics",
    "questions": "Questions",
    "roman-empire": "Roman Empire",
    "texas": "Texas",
    "tolokers": "Tolokers",
    "wikics": "WikiCS",
    "wisconsin": "Wisconsin",
}

FeatureTransform = Literal["auto", "raw", "row-normalised"]
Direction = Literal["symmetrised", "kept"]
_Generated = TypeVar("_Generated", bound=Settings)


def dataset_names() -> list[str]:
    """The names that `load_dataset` knows, bundled ones first."""
    return [*BUNDLED, *GENERATED, *FILTERED, *PYG_SOURCES]


def graph_name(dataset: str) -> str:
    """The name of a data set for readers."""
    return _WRITTEN.get(dataset, dataset)


def generated_settings(dataset: str) -> BlockModelSettings | None:
    """The settings in the name of a block model; None for any other data set."""
    kind, _, options = dataset.partition(":")
    return _settings(BlockModelSettings, options) if kind == "csbm" else None


def large_settings(dataset: str) -> LargeGraphSettings | None:
    """The settings in the name of a large graph; None for any other data set."""
    kind, _, options = dataset.partition(":")
    return _settings(LargeGraphSettings, options) if kind == "large" else None


def check_dataset(name: str) -> None:
    """Refuse a name that `load_dataset` does not know, and wrong settings in one."""
    kind, colon, options = name.partition(":")
    if kind not in dataset_names() or (colon and kind not in GENERATED):
        raise UnknownNameError("data set", name, dataset_names())
    if kind in GENERATED:
        _settings(_GENERATED[kind], options)


def check_split(text: str) -> None:
    """Refuse a split that is written in no known way."""
    ways = (_PER_CLASS, _SHARES, _FOLD, _PUBLISHED)
    if not any(re.fullmatch(way, text) for way in ways):
        raise DataError(
            f"Unknown split {text!r}; write public, 20-per-class, 60/20/20 for shares in "
            "per cent, or fold-0-of-5."
        )


def is_random_split(text: str) -> bool:
    """Whether the split is drawn by a seed, not published with the data."""
    return re.fullmatch(_PUBLISHED, text) is None


def is_drawn_split(text: str) -> bool:
    """Whether the text says how to draw a split, as 20-per-class and 60/20/20 do."""
    return any(re.fullmatch(pattern, text) for pattern in (_PER_CLASS, _SHARES, _FOLD))


def draw_split(y: Tensor, text: str, seed: int) -> Split:
    """Draw the split that a text such as 20-per-class or 60/20/20 describes."""
    if per_class := re.fullmatch(_PER_CLASS, text):
        return split_per_class(y, per_class=int(per_class[1]), seed=seed)
    if shares := re.fullmatch(_SHARES, text):
        train, val, test = (int(share) / 100 for share in shares.groups())
        return split_by_fraction(y, train=train, val=val, test=test, seed=seed)
    if fold := re.fullmatch(_FOLD, text):
        return split_by_folds(y, fold=int(fold[1]), folds=int(fold[2]), seed=seed)
    raise DataError(f"{text!r} does not say how to draw a split; 20-per-class and 60/20/20 do.")


def load_dataset(
    name: str = "cora",
    *,
    split: str | None = None,
    split_seed: int = 0,
    features: FeatureTransform = "auto",
    direction: Direction = "symmetrised",
    data_root: Path | str | None = None,
    device: torch.device | str = "cpu",
) -> NodeData:
    """Load a data set by name, ready for training.

    Args:
        name: One of `dataset_names()`. Settings of a generated graph follow a colon:
            `csbm:homophily=0.2,degree=5`.
        split: `public` or, where several were published, `public-3`; `20-per-class`;
            `60/20/20` in per cent; `fold-0-of-5`. The data set's own if not given.
        split_seed: Of a random split.
        features: `raw`, `row-normalised`, or by `auto` what suits the data set.
        direction: `symmetrised` makes a directed graph undirected; `kept` leaves its directions.
        data_root: Where data sets that do not come with the package lie.
        device: Where the data are put; the graph `large` is built there.
    """
    if features not in get_args(FeatureTransform):
        raise UnknownNameError("feature transform", features, get_args(FeatureTransform))
    if direction not in get_args(Direction):
        raise UnknownNameError("direction", direction, get_args(Direction))
    check_dataset(name)
    kind, _, options = name.partition(":")
    published = re.fullmatch(_PUBLISHED, split or "public")
    index = int(published[1] or 0) if published else 0
    if kind in BUNDLED:
        data, suits = load_bundled(kind), True
    elif kind == "csbm":
        data, suits = block_model(_settings(BlockModelSettings, options)), False
    elif kind == "large":
        data, suits = large_graph(_settings(LargeGraphSettings, options), device=device), False
    elif kind in FILTERED:
        data, suits = load_filtered(kind, data_root, split_index=index), True
    else:
        data = load_pyg(kind, data_root, split_index=index)
        suits = PYG_SOURCES[kind].row_normalise

    data = _directed(data, direction)
    if split is not None:
        data = data.with_split(choose_split(data, split, split_seed))
    is_normalised = features == "row-normalised" or (features == "auto" and suits)
    return (row_normalise(data) if is_normalised else data).to(device)


def _directed(data: NodeData, direction: Direction) -> NodeData:
    if data.graph.is_symmetric:
        return data
    if direction == "kept":
        return replace(data, source={**data.source, "direction": "kept"})
    return replace(data, graph=data.graph.symmetrised())


def _settings(kind: type[_Generated], options: str) -> _Generated:
    pairs = [option.partition("=") for option in options.split(",") if option]
    for name, equals, value in pairs:
        if not (equals and value):
            raise SettingsError(f"Write settings of a graph as name=value, got {name!r}.")
    return kind.from_mapping({name: value for name, _, value in pairs})


def choose_split(data: NodeData, text: str, seed: int = 0) -> Split:
    """The split of some data that is written as `load_dataset` reads it.

    Args:
        data: The data; their own split counts as the published one.
        text: Such as `60/20/20`.
        seed: Of a random split.
    """
    check_split(text)
    if is_drawn_split(text):
        return draw_split(data.y, text, seed)
    if text in (data.split.name, f"{data.split.name}-0") or data.split.name == f"{text}-0":
        return data.split
    raise DataError(f"{data.name!r} has no split {text!r}; its own is {data.split.name!r}.")
