"""One run from its plan to its record: training, and the folder that keeps it."""

import math
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

import akgnn
from akgnn.data.node_data import NodeData
from akgnn.errors import (
    CheckpointError,
    DivergedError,
    InterruptedRunError,
    RunFolderError,
)
from akgnn.models.registry import build_model
from akgnn.training.checkpoint import FINAL_WEIGHTS, RunFolder
from akgnn.training.history import History
from akgnn.training.loop import FitResult, Snapshot, fit
from akgnn.training.plan import RunPlan


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
        result = fit(
            model,
            data,
            settings,
            seed=seed,
            strategy=plan.strategy(),
            resume=start,
            after_epoch=keep,
        )
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
