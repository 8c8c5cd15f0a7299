"""`--model auto`: try a short list of models on the same split, and say which and why."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from akgnn.data.node_data import NodeData
from akgnn.errors import (
    DivergedError,
    FailedRunsError,
    OutOfMemoryError,
    SettingsError,
    UnknownNameError,
)
from akgnn.experiments.record import without_test
from akgnn.runs.memory import Sizes, memory_errors_explained
from akgnn.runs.plan import RunPlan
from akgnn.runs.train import train_run
from akgnn.training.callbacks import Callback
from akgnn.tuning.score import Score

AUTO = "auto"
# From the simplest on: no edges, fixed averages of neighbours near and far, learned kernels.
CANDIDATES = ("mlp", "gcn", "appnp", "akgnn")
PRESET = "any-graph"


@dataclass(frozen=True)
class Tried:
    """One model of the list, with its validation score; NaN with an error where it failed."""

    plan: RunPlan
    score: float
    epochs: int
    seconds: float
    error: str = ""

    @property
    def model(self) -> str:
        """Its name."""
        return self.plan.run.model


@dataclass(frozen=True)
class Choice:
    """What was tried, from the simplest model on, and what was chosen.

    That is the simplest one within a standard error, the `margin`, of the best.
    """

    score: Score
    tried: tuple[Tried, ...]
    best: Tried
    chosen: Tried
    margin: float

    @property
    def why(self) -> str:
        """The reason in a sentence."""
        extreme = "lowest" if self.score.metric.lower_is_better else "highest"
        found = (
            f"{self.best.model} has the {extreme} {self.score.name}, "
            f"{self.score.text(self.best.score)}"
        )
        near = f"within one standard error ({self.margin:.1f}) of it"
        if self.chosen != self.best:
            return f"{found}; {self.chosen.model} is {near} and simpler."
        if self.best == self.tried[0]:
            return f"{found}, and is the simplest."
        # A loss has no standard error to be within.
        others = "" if self.score.metric.lower_is_better else f", and no simpler model is {near}"
        return f"{found}{others}."


def candidate_plans(plan_of: Callable[[str], RunPlan]) -> list[RunPlan]:
    """The plan of every model in the list, each made by `plan_of` from its name."""
    plans = []
    for model in CANDIDATES:
        try:
            plans.append(plan_of(model))
        except UnknownNameError as error:
            raise SettingsError(
                f"With `model='{AUTO}'` presets and settings have to be there for each of "
                f"{', '.join(CANDIDATES)}. For {model}: {error}"
            ) from error
    return plans


def choose_model(
    plans: list[RunPlan], data: NodeData, *, callbacks: Sequence[Callback] = ()
) -> Choice:
    """Train each model on the same split without its test nodes, and choose by validation.

    The best score decides, but a difference of less than one standard error is taken for none: of
    such models the simplest is chosen.

    Args:
        plans: From the simplest model on, as `candidate_plans` gives them.
        data: As `plan.load()` gives it, on the device to train on.
        callbacks: Told of every epoch, with the index of the model; they may end the training.
    """
    data, sizes = without_test(data), Sizes.of(data)
    score = Score.of(plans[0].preset.training.stop_on)
    tried = []
    for index, plan in enumerate(plans):
        try:
            with memory_errors_explained(plan, data.y.device, sizes):
                run = train_run(plan, data, callbacks=callbacks, index=index)
            fit = run.result
            tried.append(Tried(plan, score.value(fit), fit.epochs, fit.seconds))
        except (DivergedError, OutOfMemoryError) as error:
            tried.append(Tried(plan, math.nan, 0, 0.0, str(error)))
    scored = [each for each in tried if not each.error]
    if not scored:
        raise FailedRunsError(f"No model could be trained, the first: {tried[0].error}")
    best = (min if score.metric.lower_is_better else max)(scored, key=lambda each: each.score)
    margin = score.standard_error(best.score, data)
    chosen = next(each for each in scored if abs(each.score - best.score) <= margin)
    return Choice(score, tuple(tried), best, chosen, margin)
