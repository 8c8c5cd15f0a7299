"""What a search has come to: its trials and the best of them, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from akgnn.training.plan import RunPlan
from akgnn.tuning.score import Score
from akgnn.tuning.space import Dimension, Value

TrialState = Literal["finished", "pruned", "failed"]


@dataclass(frozen=True)
class Trial:
    """One try.

    Attributes:
        number: From 0 on.
        state: Whether it finished, was pruned for doing worse than most, or failed.
        score: On the validation nodes; of a pruned one its last, NaN where it failed.
        values: Of the settings that are searched.
        epochs: How many were trained.
        seconds: Time of the training.
        error: Why it failed; empty otherwise.
    """

    number: int
    state: TrialState
    score: float
    values: Mapping[str, Value]
    epochs: int
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class Search:
    """A search with all its trials.

    Attributes:
        plan: The settings it started from.
        space: What was searched.
        score: What trials are compared by.
        split: Name and fingerprint of the split, without its test nodes.
        trials: In the order in which they were tried.
    """

    plan: RunPlan
    space: tuple[Dimension, ...]
    score: Score
    split: str
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        """The finished trial of the best score, the first of equals; there must be one."""
        pick = min if self.score.is_loss else max
        return pick(self.finished, key=lambda trial: trial.score)

    @property
    def finished(self) -> tuple[Trial, ...]:
        """The trials that came to a score of their own."""
        return tuple(trial for trial in self.trials if trial.state == "finished")

    def count(self, state: TrialState) -> int:
        """How many trials ended so."""
        return sum(trial.state == state for trial in self.trials)

    def plan_of(self, trial: Trial) -> RunPlan:
        """The settings of a trial, with those that were not searched."""
        return replace(self.plan, preset=self.plan.preset.updated(trial.values))
