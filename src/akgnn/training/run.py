"""One run from its settings to its record: data, model, training, folder."""

import math
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import akgnn
from akgnn.data.catalogue import FeatureTransform, load_dataset
from akgnn.data.node_data import NodeData
from akgnn.errors import (
    CheckpointError,
    DeviceError,
    DivergedError,
    InterruptedRunError,
    RunFolderError,
)
from akgnn.models.registry import build_model, find_model
from akgnn.settings import Settings
from akgnn.training.checkpoint import FINAL_WEIGHTS, RunFolder
from akgnn.training.history import History
from akgnn.training.loop import FitResult, Snapshot, fit
from akgnn.training.presets import Preset, load_preset
from akgnn.training.settings import TrainSettings


@dataclass(frozen=True, kw_only=True)
class RunSettings(Settings):
    """Which run: data, model and seed. What the preset says can be changed one by one.

    Attributes:
        dataset: Name of the data set.
        split: As `load_dataset` reads it; the data set's own if None.
        split_seed: Of a random split.
        features: How features are prepared.
        model: Name of the model.
        preset: Name of the model's preset.
        seed: Of the initial weights and the dropout masks.
    """

    dataset: str = "cora"
    split: str | None = None
    split_seed: int = 0
    features: FeatureTransform = "auto"
    model: str = "akgnn"
    preset: str = "paper"
    seed: int = 0


@dataclass(frozen=True)
class RunPlan:
    """A run with all its settings decided.

    Attributes:
        which: Data, model and seed.
        preset: Settings of the model and of training.
    """

    which: RunSettings
    preset: Preset

    @classmethod
    def make(cls, which: RunSettings, changes: Mapping[str, Any] | None = None) -> "RunPlan":
        """Decide the settings: those of the preset, with `changes`."""
        dataset = which.dataset.partition(":")[0]
        return cls(which, load_preset(which.model, which.preset, dataset).updated(changes or {}))

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "RunPlan":
        """Read the settings that a run folder keeps."""
        kept = record["settings"]
        which = RunSettings.from_mapping(kept["run"])
        model = find_model(which.model).settings.from_mapping(kept["model"])
        return cls(which, Preset(model, TrainSettings.from_mapping(kept["training"])))

    def to_dict(self) -> dict[str, Any]:
        """All settings by kind and name."""
        return {
            "run": self.which.to_dict(),
            "model": self.preset.model.to_dict(),
            "training": self.preset.training.to_dict(),
        }

    def build(self, data: NodeData) -> nn.Module:
        """The model, with the initial weights of the run's seed."""
        which = self.which
        model = build_model(
            which.model, self.preset.model, data.num_features, data.num_classes, seed=which.seed
        )
        return model.to(data.y.device)

    def load(self, data_root: Path | None = None) -> NodeData:
        """The data."""
        which = self.which
        return load_dataset(
            which.dataset,
            split=which.split,
            split_seed=which.split_seed,
            features=which.features,
            data_root=data_root,
        )


@dataclass(frozen=True)
class RunResult:
    """A finished run: its plan, the data's description, and what training came to."""

    plan: RunPlan
    data: Mapping[str, Any]
    fit: FitResult

    def to_dict(self) -> dict[str, Any]:
        """The result in one flat object, as `--json` prints it."""
        which, fit_ = self.plan.which, self.fit
        return {
            "dataset": which.dataset,
            "split": self.data["split"],
            "model": which.model,
            "preset": which.preset,
            "seed": which.seed,
            **{name: getattr(fit_, name) for name in _RESULT_FIELDS},
        }


_RESULT_FIELDS = (
    "test_accuracy",
    "test_macro_f1",
    "val_accuracy",
    "val_loss",
    "train_accuracy",
    "best_epoch",
    "epochs",
    "seconds",
    "lambda_max",
)


def choose_device(name: str) -> torch.device:
    """The device called `auto`, `cpu`, `cuda` or `cuda:1`; an error if this machine lacks it."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise DeviceError(f"Unknown device {name!r}; choose from auto, cpu, cuda.") from error
    if device.type not in ("cpu", "cuda"):
        raise DeviceError(f"Device {name!r} is not supported; choose from auto, cpu, cuda.")
    if device.type == "cuda":
        number = torch.cuda.device_count()
        if number == 0:
            raise DeviceError("No CUDA GPU is available here; use --device cpu.")
        if (device.index or 0) >= number:
            raise DeviceError(f"There is no {name}; this machine has {number} GPU(s), from cuda:0.")
    return device


def train_run(
    plan: RunPlan,
    data: NodeData,
    folder: RunFolder | None = None,
    *,
    resume: bool = False,
    checkpoint_seconds: float = 5.0,
    after_epoch: Callable[[History], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> RunResult:
    """Train one run and, with a folder, keep it there.

    Args:
        plan: What to train.
        data: As `plan.load()` gives it, on the device to train on.
        folder: Where the run is kept; nowhere if None.
        resume: Go on where the folder's run left off, or show its result if it had finished.
        checkpoint_seconds: How often the state is kept during training.
        after_epoch: Called after each epoch, to show progress.
        should_stop: Asked after each epoch; once true the state is kept and the run ends with
            `InterruptedRunError`.
    """
    content = {"settings": plan.to_dict(), "data": describe(data), "versions": _versions()}
    start: Snapshot | None = None
    if folder is not None and resume and folder.holds_run():
        kept = folder.read()
        _check_same_run(folder, kept, content)
        if kept["status"] != "running":
            return read_result(folder)
        start = folder.read_snapshot(kept)
    elif folder is not None:
        folder.prepare()
        folder.write({**content, "status": "running"}, None)

    last_kept = time.monotonic()

    def keep(history: History, snapshot: Callable[[], Snapshot]) -> None:
        nonlocal last_kept
        if after_epoch is not None:
            after_epoch(history)
        stops = should_stop()
        if folder is not None and (stops or time.monotonic() - last_kept >= checkpoint_seconds):
            folder.write_snapshot(content, snapshot())
            last_kept = time.monotonic()
        if stops:
            raise InterruptedRunError(f"Stopped after epoch {len(history)}.")

    model = plan.build(data)
    settings, seed = plan.preset.training, plan.which.seed
    try:
        result = fit(model, data, settings, seed=seed, resume=start, after_epoch=keep)
    except DivergedError as error:
        if folder is not None:
            folder.write({**content, "status": "failed", "error": str(error)}, None)
        raise
    run = RunResult(plan, content["data"], result)
    if folder is not None:
        history = result.history.to_dict()
        # JSON has no NaN; accuracies are that where there are no test nodes.
        summary = {
            name: None if value != value else value
            for name in _RESULT_FIELDS
            for value in (getattr(result, name),)
        }
        finished = {**content, "status": "finished", "result": summary, "history": history}
        folder.write(finished, dict(model.state_dict()), FINAL_WEIGHTS)
    return run


def read_result(folder: RunFolder) -> RunResult:
    """The result of a finished run, from its folder."""
    content = folder.read()
    if content.get("status") == "failed":
        raise RunFolderError(f"The run in {folder.path} failed. {content.get('error')}")
    if content.get("status") != "finished":
        raise RunFolderError(
            f"The run in {folder.path} has not finished; "
            f"akgnn train --out {folder.path} --resume goes on with it."
        )
    try:
        summary: dict[str, Any] = {
            name: math.nan if value is None else value for name, value in content["result"].items()
        }
        summary["lambda_max"] = tuple(summary["lambda_max"])
        result = FitResult(**summary, history=History(**content["history"]))
        return RunResult(RunPlan.from_record(content), content["data"], result)
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{folder.path} holds an incomplete record: {error}.") from error


def load_model(folder: RunFolder) -> tuple[RunResult, nn.Module]:
    """A finished run and its model with the best weights, on the CPU."""
    run = read_result(folder)
    which = run.plan.which
    try:
        sizes = int(run.data["num_features"]), len(run.data["class_names"])
        model = build_model(which.model, run.plan.preset.model, *sizes)
        model.load_state_dict(folder.read_weights(folder.read()))
    except (KeyError, RuntimeError) as error:
        raise CheckpointError(f"The weights in {folder.path} do not fit the model.") from error
    return run, model.eval()


def describe(data: NodeData) -> dict[str, Any]:
    """What a record says of the data."""
    return {
        "name": data.name,
        "num_nodes": data.graph.num_nodes,
        "num_edges": data.graph.num_edges,
        "num_features": data.num_features,
        "class_names": list(data.class_names),
        "split": data.split.label,
        "source": dict(data.source),
    }


def _check_same_run(folder: RunFolder, kept: Mapping[str, Any], content: Mapping[str, Any]) -> None:
    """Refuse to go on with a run of other settings or other data."""
    for kind, settings in content["settings"].items():
        for name, value in settings.items():
            there = kept["settings"][kind].get(name)
            if there != value:
                raise RunFolderError(
                    f"{folder.path} holds another run: its {name} is {there}, not {value}."
                )
    if kept["data"] != content["data"]:
        raise RunFolderError(f"{folder.path} holds a run on other data.")


def _versions() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "akgnn": akgnn.__version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "platform": platform.platform(),
    }
