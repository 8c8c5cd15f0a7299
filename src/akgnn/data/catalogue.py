"""Every data set by its name: bundled, generated, from files, PyG's, and the user's own."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar, get_args

import torch
from torch import Tensor

from akgnn.data.generated import BlockModelSettings, LargeGraphSettings, block_model, large_graph
from akgnn.data.node_data import NodeData
from akgnn.data.noise import NoiseSettings, with_noise
from akgnn.data.published import (
    BUNDLED_SHA256,
    FILTERED_FILES,
    PYG_SOURCES,
    SPLIT_FILES,
    load_bundled,
    load_filtered,
    load_pyg,
    load_split,
)
from akgnn.data.splits import Split, split_by_folds, split_by_fraction, split_per_class
from akgnn.data.transforms import row_normalise
from akgnn.errors import DataError, SettingsError, UnknownNameError
from akgnn.graph import Graph
from akgnn.settings import Settings
from akgnn.text import is_printable

BUNDLED = tuple(BUNDLED_SHA256)
GENERATED = ("csbm", "large")
FILTERED = tuple(FILTERED_FILES)
DIRECTED = (*FILTERED, *(name for name, source in PYG_SOURCES.items() if source.is_directed))
REGISTERED: dict[str, Callable[[], NodeData]] = {}
"""What `register_dataset` added: the function that loads each."""
# How a split is written.
_NUMBER = r"(\d{1,9})"
_PER_CLASS, _SHARES = f"{_NUMBER}-per-class", f"{_NUMBER}/{_NUMBER}/{_NUMBER}"
_PUBLISHED, _FOLD = f"public(?:-{_NUMBER})?", f"fold-{_NUMBER}-of-{_NUMBER}"
_DRAWN = f"{_PER_CLASS}|{_SHARES}|{_FOLD}"

# How the field writes the names of its graphs.
_WRITTEN = {name: name.replace("-", " ").title() for name in (*BUNDLED, *PYG_SOURCES)} | {
    "citeseer": "CiteSeer",
    "pubmed": "PubMed",
    "chameleon-filtered": "Chameleon, filtered",
    "squirrel-filtered": "Squirrel, filtered",
    "cora-ml": "Cora ML",
    "cs": "CS",
    "dblp": "DBLP",
    "wikics": "WikiCS",
}

FeatureTransform = Literal["auto", "raw", "row-normalised"]
Direction = Literal["symmetrised", "kept"]
_Generated = TypeVar("_Generated", bound=Settings)


def dataset_names() -> list[str]:
    """The names that `load_dataset` knows, bundled ones first."""
    return [*BUNDLED, *GENERATED, *FILTERED, *PYG_SOURCES, *REGISTERED]


def register_dataset(name: str, load: Callable[[], NodeData]) -> None:
    """Let `load_dataset`, and so all that takes the name of a data set, know another one.

    Args:
        name: Name of the data set. One registered before is replaced.
        load: Loads it, with features that `auto` leaves alone, and its own split and directions.
    """
    is_taken = name in dataset_names() and name not in REGISTERED
    # Runs on tables of one's own go by the name `tables`.
    if is_taken or name == "tables":
        raise SettingsError(f"The name {name!r} is taken; call the data set something else.")
    if not name.strip() or ":" in name or not is_printable(name):
        raise SettingsError(f"A data set needs a name that can be printed, no colon; got {name!r}.")
    REGISTERED[name] = load


def graph_name(dataset: str) -> str:
    """The name of a data set for readers."""
    name, colon, noise = dataset.partition(":")
    if name not in _WRITTEN:
        return dataset
    return f"{_WRITTEN[name]}, {noise}" if colon else _WRITTEN[name]


def base_name(dataset: str) -> str:
    """The name of a data set without the settings after the colon."""
    return dataset.partition(":")[0]


def generated_settings(dataset: str) -> BlockModelSettings | None:
    """The settings in the name of a block model; None for any other data set."""
    return _settings(BlockModelSettings, "csbm", dataset)


def large_settings(dataset: str) -> LargeGraphSettings | None:
    """The settings in the name of a large graph; None for any other data set."""
    return _settings(LargeGraphSettings, "large", dataset)


def noise_settings(dataset: str) -> NoiseSettings | None:
    """The noise in the name of a data set that is not generated; None without a colon."""
    name, colon, _ = dataset.partition(":")
    return _settings(NoiseSettings, name, dataset) if colon and name not in GENERATED else None


def generated_sizes(dataset: str) -> tuple[int, int, int] | None:
    """Nodes, features and classes of a generated graph, as its name says; None for others."""
    settings = generated_settings(dataset) or large_settings(dataset)
    if settings is None:
        return None
    return settings.num_nodes, settings.num_features, settings.num_classes


def check_dataset(name: str) -> None:
    """Refuse a name that `load_dataset` does not know, and wrong settings in one."""
    if not isinstance(name, str):
        raise SettingsError(f"The name of a data set is text, got {type(name).__name__}.")
    kind, colon, options = name.partition(":")
    is_cut_off = colon and not options and kind not in GENERATED
    if kind not in dataset_names() or is_cut_off:
        raise UnknownNameError("data set", name, dataset_names())
    generated_settings(name)
    large_settings(name)
    noise_settings(name)


def check_split(text: str) -> None:
    """Refuse a split that is not written like any of the known ones."""
    if is_random_split(text) and not is_drawn_split(text):
        raise DataError(
            f"Unknown split {text!r}; write public, 20-per-class, 60/20/20 for shares in "
            "per cent, or fold-0-of-5."
        )


def is_random_split(text: str) -> bool:
    """Whether the split is drawn by a seed, not published with the data."""
    return re.fullmatch(_PUBLISHED, text) is None


def is_drawn_split(text: str) -> bool:
    """Whether the text says how to draw a split, as 20-per-class and 60/20/20 do."""
    return re.fullmatch(_DRAWN, text) is not None


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


def check_options(features: FeatureTransform, direction: Direction) -> None:
    """Refuse a treatment of features or directions that is none of the choices."""
    if features not in get_args(FeatureTransform):
        raise UnknownNameError("feature transform", features, get_args(FeatureTransform))
    if direction not in get_args(Direction):
        raise UnknownNameError("direction", direction, get_args(Direction))


def directed(graph: Graph, direction: Direction) -> tuple[Graph, dict[str, str]]:
    """The graph with its directions, or without, and what the record of a run says about them."""
    if direction == "symmetrised":
        return graph.symmetrised(), {}
    return graph, {} if graph.is_symmetric else {"direction": "kept"}


def load_dataset(
    name: str = "cora",
    *,
    split: str | None = None,
    split_seed: int = 0,
    features: FeatureTransform = "auto",
    direction: Direction = "symmetrised",
    data_root: Path | str | None = None,
    device: torch.device | str = "cpu",
    folder: Path | None = None,
) -> NodeData:
    """Load a data set by name, ready for training.

    Args:
        name: One of `dataset_names()`. Settings of a generated graph follow a colon:
            `csbm:homophily=0.2,degree=5`; of any other, noise to add to it:
            `cora:added_edges=0.5,dropped_features=0.2,seed=1`.
        split: `public` or, where several were published, `public-3`; `20-per-class`;
            `60/20/20` in per cent; `fold-0-of-5`. The data set's own if not given.
        split_seed: Seed of a random split.
        features: `raw`, `row-normalised`, or by `auto` what suits the data set.
        direction: `symmetrised` makes a directed graph undirected; `kept` leaves its directions.
        data_root: Folder of the data sets that do not come with the package.
        device: Device that the data are put on; the graph `large` is built there.
        folder: An empty folder for the arrays of `large`, if they are not to fit into memory.

    Raises:
        UnknownNameError: There is no such data set, or no such choice of an option.
        DataError: The data set is not to be had or damaged, or has no such split.
        SettingsError: The settings of a generated graph, or of the noise, are impossible.
    """
    check_options(features, direction)
    check_dataset(name)
    noise = noise_settings(name)
    name = name if noise is None else base_name(name)
    published = re.fullmatch(_PUBLISHED, split or "public")
    index = int(published[1] or 0) if published else 0
    data, is_bag_of_words = _load(name, data_root, index, device, folder)
    graph, notes = directed(data.graph, direction)
    if graph is not data.graph or notes:
        data = replace(data, graph=graph, source={**data.source, **notes})
    if noise is not None:
        data = with_noise(data, noise)
    if split is not None:
        if published and name in SPLIT_FILES:
            data = data.with_split(load_split(name, data_root))
        data = data.with_split(choose_split(data, split, split_seed))
    is_normalised = features == "row-normalised" or (features == "auto" and is_bag_of_words)
    return (row_normalise(data) if is_normalised else data).to(device)


def _load(
    name: str,
    data_root: Path | str | None,
    split_index: int,
    device: torch.device | str,
    folder: Path | None,
) -> tuple[NodeData, bool]:
    """The data as they are, and whether dividing features by their row's sum suits them."""
    if name in BUNDLED:
        return load_bundled(name), True
    if block := generated_settings(name):
        return block_model(block), False
    if large := large_settings(name):
        return large_graph(large, device=device, folder=folder), False
    if name in FILTERED:
        return load_filtered(name, data_root, split_index=split_index), True
    if name in PYG_SOURCES:
        data = load_pyg(name, data_root, split_index=split_index)
        return data, PYG_SOURCES[name].row_normalise
    return REGISTERED[name](), False


def _settings(kind: type[_Generated], name: str, dataset: str) -> _Generated | None:
    start, _, options = dataset.partition(":")
    if start != name:
        return None
    pairs = [option.partition("=") for option in options.split(",") if option]
    for setting, equals, value in pairs:
        if not (equals and value):
            raise SettingsError(f"Write settings of a graph as name=value, got {setting!r}.")
    return kind.from_mapping({setting: value for setting, _, value in pairs})


def choose_split(data: NodeData, text: str, seed: int = 0) -> Split:
    """The split of some data that is written as `load_dataset` reads it.

    Their own split counts as the published one.
    """
    check_split(text)
    if is_drawn_split(text):
        return draw_split(data.y, text, seed)
    if text in (data.split.name, f"{data.split.name}-0") or data.split.name == f"{text}-0":
        return data.split
    raise DataError(f"{data.name!r} has no split {text!r}; its own is {data.split.name!r}.")
