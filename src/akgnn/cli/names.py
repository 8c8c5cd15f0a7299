"""The names that a shell completes.

Asked at every touch of a key, so nothing here may import torch; tests hold these names against the
lists that commands go by.
"""

import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable

import typer

from akgnn.experiments import SPECS

_DATASETS = (
    "cora", "citeseer", "pubmed", "csbm", "large", "chameleon-filtered", "squirrel-filtered",
    "actor", "amazon-ratings", "computers", "cora-ml", "cornell", "cs", "dblp", "minesweeper",
    "photo", "physics", "questions", "roman-empire", "texas", "tolokers", "wikics", "wisconsin",
)  # fmt: skip
# They have presets for experiments, but are no networks that a run can keep.
_NO_MODELS = ("gradient-boosting",)


def dataset_names() -> list[str]:
    """The data sets that `akgnn datasets` lists."""
    return list(_DATASETS)


def model_names() -> list[str]:
    """The models that `akgnn models` lists."""
    found = (file.name.removesuffix(".toml") for file in _preset_files().iterdir())
    return sorted(name for name in found if name not in _NO_MODELS)


def models_or_auto() -> list[str]:
    """What `--model` of `akgnn train` takes."""
    return ["auto", *model_names()]


def preset_names(context: typer.Context) -> list[str]:
    """The presets of the model that the command line names, of akgnn if none."""
    model = context.params.get("model") or "akgnn"
    if model not in model_names():
        return []
    presets = tomllib.loads((_preset_files() / f"{model}.toml").read_text(encoding="utf-8"))
    return [name for name in presets if name != "search"]


def experiment_names() -> list[str]:
    """What `akgnn reproduce` takes."""
    return ["all", *SPECS]


def _preset_files() -> Traversable:
    # Not of the package `akgnn.runs`, which this must not import.
    return files("akgnn") / "runs" / "preset_files"
