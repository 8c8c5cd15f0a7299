"""A finished run: its result, and what its folder keeps of it."""

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from akgnn.data.node_data import NodeData
from akgnn.errors import RunFolderError
from akgnn.models.registry import build_model
from akgnn.training.checkpoint import RunFolder
from akgnn.training.loop import FitResult
from akgnn.training.plan import RunPlan
from akgnn.training.record import (
    check_fit,
    number,
    numbers,
    parse_data,
    parse_history,
    parse_starts,
    reading,
    text,
    whole,
)
from akgnn.version import __version__


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


def summary_of(result: FitResult) -> dict[str, Any]:
    """What `run.json` says of a result, beside the history; `read_result` reads it."""
    values = {name: getattr(result, name) for name in _RESULT_FIELDS}
    # JSON has no NaN; accuracies are that where there are no test nodes.
    summary = {name: None if value != value else value for name, value in values.items()}
    return {**summary, "starts": [asdict(start) for start in result.starts]}


def metrics_of(result: FitResult) -> dict[str, float]:
    """Accuracies, losses and epochs by name."""
    return {name: getattr(result, name) for name in _METRICS}


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


def versions() -> dict[str, str]:
    """Of everything that computes."""
    return {
        "python": platform.python_version(),
        "akgnn": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "platform": platform.platform(),
    }
