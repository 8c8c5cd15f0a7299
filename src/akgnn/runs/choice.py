"""A choice by validation: train a few plans on the same split, and say which is best and why.

Where few nodes tell who is right, several seeds of each plan are trained and speak as one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import torch
from torch import Tensor

from akgnn.data.node_data import NodeData
from akgnn.errors import (
    AkgnnError,
    DivergedError,
    FailedRunsError,
    OutOfMemoryError,
    SettingsError,
    UnknownNameError,
)
from akgnn.runs.folder import RunFolder
from akgnn.runs.jobs import Job, jobs_of, run_job, run_jobs
from akgnn.runs.memory import Sizes, check_memory, memory_errors_explained
from akgnn.runs.plan import WITHOUT_EDGES, RunPlan
from akgnn.runs.run import Run
from akgnn.runs.session import Session
from akgnn.runs.vote import Vote, vote_weights
from akgnn.training.callbacks import Callback, Epoch
from akgnn.training.score import Score
from akgnn.training.state import Snapshot, Stopwatch, initial_values
from akgnn.training.strategies.supervised import scores_at

AUTO = "auto"
"""The name of the model where models are to be tried."""
# From the simplest on: no edges, fixed averages of neighbours near and far, learned kernels.
CANDIDATES = (WITHOUT_EDGES, "gcn", "appnp", "akgnn")
PRESET = "any-graph"
# Epochs that are trained to tell how long all will take, and how many are usual before patience
# begins to count.
_TRIED_EPOCHS, _USUAL_EPOCHS = 6, 100
# Seeds of each plan where there are fewer validation nodes than these, on graphs that are trained
# in minutes. Chosen on splits of five graphs with about 60 validation nodes (docs/choosing.md).
_SEEDS, _FEW_NODES, _MOST_EDGES = 3, 100, 1_000_000


@dataclass(frozen=True)
class Tried:
    """One plan of the list, with its validation score; NaN with an error where it failed.

    Attributes:
        plan: The plan.
        score: What it is compared by, the mean over its seeds.
        val_accuracy: Validation accuracy in per cent, likewise.
        epochs: How many epochs were trained, of all seeds.
        seconds: How long that took.
        error: Why there is no score.
        snapshots: The last state of each seed, from the plan's own on: who resumes it need not
            train again.
        voice: Log-probabilities of the validation nodes, by the mean of its seeds.
    """

    plan: RunPlan
    score: float = math.nan
    val_accuracy: float = math.nan
    epochs: int = 0
    seconds: float = 0.0
    error: str = ""
    snapshots: tuple[Snapshot | None, ...] = field(default=(None,), repr=False, compare=False)
    voice: Tensor | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """Its model and preset."""
        return f"{self.plan.run.model} ({self.plan.run.preset})"

    @property
    def snapshot(self) -> Snapshot | None:
        """The last state of the plan's own seed."""
        return self.snapshots[0]


@dataclass(frozen=True)
class Choice:
    """What was tried, in the order given, and what was chosen: the one with the best score.

    Attributes:
        score: How they are compared.
        tried: Every plan.
        chosen: The best.
        weights: The share of each in a vote of all, 0 where it would not vote; none where the best
            has it all.
    """

    score: Score
    tried: tuple[Tried, ...]
    chosen: Tried
    weights: tuple[float, ...] = ()

    @property
    def voters(self) -> list[tuple[Tried, float]]:
        """Those who vote with their shares, the largest in front."""
        weights = self.weights or [float(each is self.chosen) for each in self.tried]
        pairs = zip(self.tried, weights, strict=True)
        return sorted((pair for pair in pairs if pair[1] > 0), key=lambda pair: -pair[1])

    @property
    def votes(self) -> tuple[Vote, ...]:
        """The same, as a run keeps them: the seeds of a plan share its part alike."""
        return tuple(
            Vote(plan, weight / len(each.snapshots))
            for each, weight in self.voters
            for plan in _seeded(each.plan, len(each.snapshots))
        )

    @property
    def snapshots(self) -> list[Snapshot | None]:
        """The last state of each of the `votes`."""
        return [snapshot for each, _ in self.voters for snapshot in each.snapshots]

    @property
    def why(self) -> str:
        """The reason in a sentence."""
        extreme = "lowest" if self.score.metric.lower_is_better else "highest"
        others = [each for each in self.tried if not each.error and each is not self.chosen]
        found = (
            f"{self.chosen.name} has the {extreme} {self.score.name}, "
            f"{self.score.text(self.chosen.score)}"
        )
        if not others:
            return f"{found}; the others failed."
        second = self.score.best_of(others, _score)
        return f"{found}; next is {second.name} with {self.score.text(second.score)}."

    @property
    def about_links(self) -> str:
        """A sentence where a model that sees no links was chosen; empty where they help."""
        seeing = [each for each in self.tried if each.plan.run.model != WITHOUT_EDGES]
        seeing = [each for each in seeing if not each.error]
        if self.chosen in seeing or not seeing:
            return ""
        best = self.score.best_of(seeing, _score)
        return (
            f"The links do not help here: without them an {WITHOUT_EDGES.upper()} is as good, "
            f"{self.chosen.val_accuracy:.1f} % of the validation nodes against "
            f"{best.val_accuracy:.1f} %."
        )


def job_of(
    plan: RunPlan,
    folder: RunFolder | None = None,
    votes: Sequence[Vote] = (),
    choice: Choice | None = None,
) -> Job:
    """Return the job of a plan, or of the models that vote in its place.

    Its models begin where the models of the choice ended, so that nothing is trained twice.
    """
    if len(votes) > 1:
        return Job(plan, folder, tuple(votes), () if choice is None else tuple(choice.snapshots))
    return Job(plan, folder, starts=() if choice is None else (choice.chosen.snapshot,))


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


def choose(
    plans: Sequence[RunPlan],
    data: NodeData,
    *,
    seeds: int = 1,
    callbacks: Sequence[Callback] = (),
    force: bool = False,
) -> Choice:
    """Train each plan on the same split without its test nodes, and choose by validation.

    They are compared by their validation loss at the temperature that suits each best or, where all
    stop on another metric such as ROC-AUC, by that: see `Score.for_choice`.

    Args:
        plans: What to try; of equal scores the first is chosen.
        data: As `plan.load()` gives it, on the device to train on.
        seeds: How many seeds of each plan are trained; `seeds_to_vote` says how many are wanted
            for a vote.
        callbacks: Told of every epoch, with the index of the seed among those of all plans, plan
            after plan; they may end the training.
        force: Whether to try what memory is estimated not to suffice for.
    """
    data, score = data.without_test(), score_of(plans)
    tried = [
        _try(plan, data, score, seeds, seeds * index, callbacks, force)
        for index, plan in enumerate(plans)
    ]
    scored = [each for each in tried if not each.error]
    if not scored:
        raise FailedRunsError(f"No model could be trained, the first: {tried[0].error}")
    best = score.best_of(scored, _score)
    return Choice(score, tuple(tried), best, tuple(_weights(tried, best, data)))


def may_vote(plans: Sequence[RunPlan]) -> bool:
    """Whether models of these plans can be asked the same: none takes labels as inputs."""
    return not any(plan.preset.strategy.takes_labels for plan in plans)


def seeds_to_vote(data: NodeData) -> int:
    """How many seeds of each plan are to vote: several where few validation nodes tell of them."""
    is_told = len(data.split.val) >= _FEW_NODES or data.split.chooses_on_train
    return 1 if is_told or data.graph.num_edges > _MOST_EDGES else _SEEDS


def _weights(tried: Sequence[Tried], best: Tried, data: NodeData) -> list[float]:
    """The share of each in a vote, or all of it for the best where there is none."""
    # Nodes that were trained on cannot tell who is right about others.
    is_told = not data.split.chooses_on_train and may_vote([each.plan for each in tried])
    voices = {index: each.voice for index, each in enumerate(tried) if each.voice is not None}
    if not is_told or best.voice is None:
        return [float(each is best) for each in tried]
    y = data.y[data.split.val].cpu()
    shares = dict(zip(voices, vote_weights(list(voices.values()), y), strict=True))
    return [shares.get(index, 0.0) for index in range(len(tried))]


def expected_seconds(plans: Sequence[RunPlan], data: NodeData, seeds: int = 1) -> float:
    """About how long `choose` will take, from a few epochs of each plan."""
    total = 0.0
    for plan in plans:
        training = replace(plan.preset.training, epochs=_TRIED_EPOCHS, several_starts=False)
        short = replace(plan.members()[0], preset=replace(plan.preset, training=training))
        watch = _EpochTimes()
        try:
            run_job(Job(short), data.without_test(), Session(callbacks=[watch]))
        except (DivergedError, OutOfMemoryError):
            continue
        usual = min(plan.preset.training.epochs, plan.preset.training.patience + _USUAL_EPOCHS)
        starts = len(initial_values(plan.build(plan.with_inputs(data)), plan.preset.training))
        total += watch.shortest * usual * starts * seeds
    return total


def _try(
    plan: RunPlan,
    data: NodeData,
    score: Score,
    seeds: int,
    first_index: int,
    callbacks: Sequence[Callback],
    force: bool,
) -> Tried:
    # Of an ensemble the first member speaks for all.
    first, last = plan.members()[0], _LastStates()
    try:
        if not force:
            check_memory(first, Sizes.of(data), data.y.device)
        with memory_errors_explained(first, data.y.device, Sizes.of(data)):
            outcomes = run_jobs(
                jobs_of(_seeded(first, seeds)),
                data,
                Session(callbacks=[*callbacks, last]),
                first_index=first_index,
            )
    except OutOfMemoryError as error:
        return Tried(plan, error=str(error))
    runs: list[Run] = []
    for outcome in outcomes:
        if isinstance(outcome, AkgnnError):
            return Tried(plan, error=str(outcome))
        runs.append(outcome)
    fits = [run.result for run in runs]
    return Tried(
        plan,
        fmean(score.value(fit) for fit in fits),
        fmean(fit.val_accuracy for fit in fits),
        sum(fit.epochs for fit in fits),
        sum(fit.seconds for fit in fits),
        "",
        tuple(last.snapshots.get(first_index + index) for index in range(seeds)),
        _voice(runs, first.with_inputs(data)),
    )


def _seeded(plan: RunPlan, seeds: int) -> list[RunPlan]:
    """The plan with so many seeds, from its own on."""
    return [plan.with_seed(plan.run.seed + number) for number in range(seeds)]


@torch.no_grad()
def _voice(runs: Sequence[Run], data: NodeData) -> Tensor:
    """Log-probabilities of the validation nodes, by the mean of the runs."""
    voices = []
    for run in runs:
        assert run.trained_model is not None, "a run without a folder has its model"
        scores = scores_at(run.trained_model.eval(), data.x, data.graph, data.split.val)
        voices.append(run.result.calibration.scaled(scores).log_softmax(1).cpu())
    return torch.stack(voices).logsumexp(0) - math.log(len(voices))


def score_of(plans: Sequence[RunPlan]) -> Score:
    """What the runs of these plans are chosen by."""
    return Score.for_choice(plan.preset.training.stop_on for plan in plans)


def _score(tried: Tried) -> float:
    return tried.score


class _EpochTimes(Callback):
    """The shortest time from one epoch to the next: the first ones prepare what later ones use."""

    shortest = math.inf

    def __init__(self) -> None:
        self._watch = Stopwatch()

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        """Read the watch."""
        self.shortest = min(self.shortest, self._watch.lap())


class _LastStates(Callback):
    """Takes a snapshot of the last state of each run, once its training has ended."""

    def __init__(self) -> None:
        self.snapshots: dict[int, Snapshot] = {}
        self._epochs: dict[int, Epoch] = {}

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        """Remember the epochs."""
        self._epochs.update({epoch.index: epoch for epoch in epochs})

    def after_run(self, index: int, outcome: object) -> None:
        """Take the snapshot."""
        if index in self._epochs:
            self.snapshots[index] = self._epochs.pop(index).snapshot()
