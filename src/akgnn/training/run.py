"""One run from its plan to its record: training, and the folder that keeps it."""

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

import akgnn
from akgnn.data.node_data import NodeData
from akgnn.errors import DivergedError, InterruptedRunError, RunFolderError
from akgnn.models.registry import build_model
from akgnn.training.checkpoint import FINAL_WEIGHTS, RunFolder
from akgnn.training.history import History
from akgnn.training.loop import FitResult, Snapshot, check_stopping, fit
from akgnn.training.optimizer import make_optimizer
from akgnn.training.plan import RunPlan
from akgnn.training.record import (
    check_fit,
    check_starts,
    expected_optimizer,
    number,
    numbers,
    parse_data,
    parse_history,
    parse_starts,
    reading,
    text,
    whole,
)
from akgnn.training.starts import starts_of


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
            "starts": [asdict(start) for start in fit_.starts],
        }


_METRICS = (
    "test_accuracy",
    "test_macro_f1",
    "test_roc_auc",
    "val_accuracy",
    "val_loss",
    "val_roc_auc",
    "train_accuracy",
    "best_epoch",
    "epochs",
)
_RESULT_FIELDS = (*_METRICS, "seconds", "lambda_max", "neighbour_share")


def metrics_of(result: FitResult) -> dict[str, float]:
    """Accuracies, losses and epochs by name."""
    return {name: getattr(result, name) for name in _METRICS}


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
    content = {"settings": plan.to_dict(), "data": describe(data), "versions": versions()}
    # Before anything is written: what cannot be built leaves no folder behind.
    model = plan.build(data)
    check_stopping(plan.preset.training, data)

    def train(start: Snapshot | None) -> RunResult:
        keeper = _Keeper(folder, content, checkpoint_seconds, after_epoch, should_stop)
        return _train(plan, data, model, start, keeper)

    if folder is None:
        return train(None)
    if not (resume and folder.holds_run()):
        folder.prepare()
        folder.write({**content, "status": "running"}, None)
    with folder.locked():
        kept = folder.read()
        _check_same_run(folder, kept, content)
        if kept.get("status") != "running":
            return read_result(folder)
        start = folder.read_snapshot(kept)
        if start is not None:
            _check_snapshot(start, model, plan)
        return train(start)


class _Keeper:
    """Keeps the states and the end of a run in its folder, if it has one."""

    def __init__(
        self,
        folder: RunFolder | None,
        content: dict[str, Any],
        seconds: float,
        after_epoch: Callable[[History], None] | None,
        should_stop: Callable[[], bool],
    ) -> None:
        self.folder, self.content, self.seconds = folder, content, seconds
        self.after_epoch, self.should_stop = after_epoch, should_stop
        self.last_kept = time.monotonic()

    def keep_epoch(self, history: History, snapshot: Callable[[], Snapshot]) -> None:
        """Called after each epoch: show it, keep it if it is time, stop if that was asked for."""
        if self.after_epoch is not None:
            self.after_epoch(history)
        stops, now = self.should_stop(), time.monotonic()
        if self.folder is not None and (stops or now - self.last_kept >= self.seconds):
            self.folder.write_snapshot(self.content, snapshot())
            self.last_kept = time.monotonic()
        if stops:
            raise InterruptedRunError(f"Stopped after epoch {len(history)}.")

    def keep_failure(self, error: DivergedError) -> None:
        """Remember that the run failed, and why."""
        if self.folder is not None:
            self.folder.write({**self.content, "status": "failed", "error": str(error)}, None)

    def keep_result(self, result: FitResult, model: nn.Module) -> None:
        """Keep the result and the best weights."""
        if self.folder is None:
            return
        values = {name: getattr(result, name) for name in _RESULT_FIELDS}
        # JSON has no NaN; accuracies are that where there are no test nodes.
        summary = {name: None if value != value else value for name, value in values.items()}
        summary["starts"] = [asdict(start) for start in result.starts]
        history = result.history.to_dict()
        finished = {**self.content, "status": "finished", "result": summary, "history": history}
        self.folder.write(finished, dict(model.state_dict()), FINAL_WEIGHTS)


def _train(
    plan: RunPlan, data: NodeData, model: nn.Module, start: Snapshot | None, keeper: _Keeper
) -> RunResult:
    """Train from a snapshot or from the start."""
    try:
        result = fit(
            model,
            data,
            plan.preset.training,
            seed=plan.which.seed,
            strategy=plan.strategy(),
            resume=start,
            after_epoch=keeper.keep_epoch,
        )
    except DivergedError as error:
        keeper.keep_failure(error)
        raise
    keeper.keep_result(result, model)
    return RunResult(plan, keeper.content["data"], result)


def _check_snapshot(start: Snapshot, model: nn.Module, plan: RunPlan) -> None:
    """Refuse a state whose tensors are not those of this model and its optimiser."""
    check_fit("weights", start.weights, model.state_dict())
    check_fit("best weights", start.best_weights, model.state_dict())
    groups = make_optimizer(model, plan.preset.training).param_groups
    order = [parameter for group in groups for parameter in group["params"]]
    check_fit("states of the optimiser", start.optimizer, expected_optimizer(order))
    check_starts(start.history.start, len(starts_of(model, plan.preset.training)))


def read_result(folder: RunFolder) -> RunResult:
    """The result of a finished run, from its folder."""
    content = folder.read()
    if content.get("status") == "failed":
        with reading(folder.path):
            cause = text(content["error"])
        raise RunFolderError(f"The run in {folder.path} failed. {cause}")
    if content.get("status") != "finished":
        raise RunFolderError(
            f"The run in {folder.path} has not finished; "
            f"akgnn train --out {folder.path} --resume goes on with it."
        )
    with reading(folder.path):
        kept = content["result"]
        floats = ("test_accuracy", "test_macro_f1", "val_accuracy", "val_loss", "train_accuracy")
        values: dict[str, Any] = {name: number(kept[name]) for name in floats}
        # Runs from before there was ROC-AUC do not have it.
        values |= {name: number(kept.get(name)) for name in ("test_roc_auc", "val_roc_auc")}
        result = FitResult(
            **values,
            best_epoch=whole(kept["best_epoch"]),
            epochs=whole(kept["epochs"]),
            seconds=number(kept["seconds"]),
            lambda_max=tuple(numbers(kept["lambda_max"])),
            neighbour_share=tuple(numbers(kept.get("neighbour_share", []))),
            starts=parse_starts(kept.get("starts", [])),
            history=parse_history(content["history"]),
        )
        return RunResult(plan_of(folder, content), parse_data(content["data"]), result)


def plan_of(folder: RunFolder, content: Mapping[str, Any]) -> RunPlan:
    """The plan that a run folder keeps."""
    with reading(folder.path):
        return RunPlan.from_record(content)


def load_model(folder: RunFolder) -> tuple[RunResult, nn.Module]:
    """A finished run and its model with the best weights, on the CPU."""
    run = read_result(folder)
    which = run.plan.which
    sizes = run.data["num_features"], len(run.data["class_names"])
    weights = folder.read_weights(folder.read())
    with reading(folder.path):
        model = build_model(which.model, run.plan.preset.model, *sizes)
    check_fit("weights", weights, model.state_dict())
    model.load_state_dict(weights)
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
    there = plan_of(folder, kept).to_dict()
    for kind, settings in content["settings"].items():
        for name, value in settings.items():
            other = there[kind].get(name)
            if other != value:
                raise RunFolderError(
                    f"{folder.path} holds another run: its {name} is {other}, not {value}."
                )
    with reading(folder.path):
        same = parse_data(kept["data"]) == content["data"]
    if not same:
        raise RunFolderError(f"{folder.path} holds a run on other data.")


def versions() -> dict[str, str]:
    """Of everything that computes."""
    return {
        "python": platform.python_version(),
        "akgnn": akgnn.__version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "platform": platform.platform(),
    }
