"""Gradient boosting as a row of a study: fitted, scored and recorded like a network."""

import time
from typing import Any, cast

from akgnn.data.node_data import NodeData
from akgnn.errors import SettingsError
from akgnn.models.boosting import GRADIENT_BOOSTING, Boosted, BoostingSettings, Task, boost
from akgnn.runs.facts import DataFacts
from akgnn.runs.plan import RunPlan
from akgnn.runs.run import Run
from akgnn.training.fit import check_stopping, scores_of
from akgnn.training.history import History
from akgnn.training.metrics import METRICS, accuracy, cross_entropy
from akgnn.training.result import FitResult


def is_boosting(plan: RunPlan) -> bool:
    """Whether trees are to be fitted, not a network."""
    return plan.run.model == GRADIENT_BOOSTING


def boosted_run(plan: RunPlan, data: NodeData) -> tuple[Run, dict[str, Any]]:
    """Fit the trees of a plan, on the CPU; the second value is what the record says of them.

    The score that validation chooses by is that which networks stop on; rounds count as epochs. The
    test nodes are read once, with what was chosen.

    Raises:
        SettingsError: The plan asks for what trees do not have.
        DataError: The training nodes are all of one class.
        MissingExtraError: scikit-learn is not installed.
    """
    if plan.preset.strategy.name != "supervised":
        raise SettingsError(f"{GRADIENT_BOOSTING} needs strategy='supervised'.")
    check_stopping(plan.preset.training, data)
    data, start = data.to("cpu"), time.perf_counter()
    settings = cast(BoostingSettings, plan.preset.model)
    boosted = boost(settings, data.x, data.graph, _task(plan, data))
    result = _result(boosted, data, time.perf_counter() - start)
    return Run(plan, DataFacts.of(data), result), {"chosen": boosted.chosen}


def _task(plan: RunPlan, data: NodeData) -> Task:
    training = plan.preset.training
    metric = METRICS.get(training.stop_on, METRICS["log_loss"])
    sign = -1 if metric.lower_is_better else 1
    return Task(
        data.y,
        data.num_classes,
        data.split.train,
        data.split.val,
        lambda logits, y: sign * metric.function(logits, y),
        is_balanced=training.class_weight == "balanced",
        seed=plan.run.seed,
    )


def _result(boosted: Boosted, data: NodeData, seconds: float) -> FitResult:
    logits, train, val = boosted.logits, data.split.train, data.split.val
    scores, calibration = scores_of({"test": logits[data.split.test], "val": logits[val]}, data)
    scores["val_loss"] = float(cross_entropy(logits[val], data.y[val]))
    scores["train_accuracy"] = accuracy(logits[train].argmax(1), data.y[train])
    return FitResult(
        scores=scores,
        best_epoch=boosted.rounds,
        epochs=boosted.rounds,
        seconds=seconds,
        lambda_max=(),
        neighbour_share=(),
        restarts=(),
        history=History(),
        calibration=calibration,
        num_test=data.split.test.numel(),
    )
