"""`akgnn tune`: try settings one after the other, and keep the best."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from akgnn.data.node_data import NodeData
from akgnn.errors import (
    AkgnnError,
    DivergedError,
    FailedRunsError,
    InterruptedRunError,
    OutOfMemoryError,
    RunFolderError,
)
from akgnn.files import (
    exists,
    folder_lock,
    is_left_over,
    json_text,
    make_folder,
    parse_json,
    write_file,
)
from akgnn.runs.config import settings_toml
from akgnn.runs.facts import DataFacts
from akgnn.runs.jobs import Job, run_job
from akgnn.runs.memory import Sizes, check_memory, memory_errors_explained
from akgnn.runs.plan import RunPlan
from akgnn.runs.session import Session
from akgnn.training.callbacks import Callback, Epoch
from akgnn.training.fit import check_stopping
from akgnn.training.score import Score
from akgnn.training.state import initial_values
from akgnn.tuning.space import Dimension, settings_of, space_of, tried_preset
from akgnn.tuning.study import Study, Trial, TrialState, storage_errors

if TYPE_CHECKING:
    import optuna

STUDY_FILE, BEST_FILE = "study.db", "best.toml"
# How often a trial on its way is compared with others, in epochs.
_EVERY = 10


@dataclass(frozen=True)
class Search:
    """A search with all its trials, in the order in which they were tried.

    It started from the settings of the plan. The split, by name and fingerprint, is without its
    test nodes.

    Attributes:
        num_val: Number of validation nodes, which the score is of; 0 where it is not known.
        importance: What each setting had to do with a good score, the largest first; they add up to
            1. Empty where too few trials have finished to tell.
    """

    plan: RunPlan
    space: tuple[Dimension, ...]
    score: Score
    split: str
    trials: tuple[Trial, ...]
    num_val: int = 0
    importance: Mapping[str, float] = field(default_factory=dict)

    @property
    def start(self) -> Trial | None:
        """The first trial, which the best is compared with; None where it did not finish."""
        return self.trials[0] if self.trials[0].state == "finished" else None

    @property
    def starts_as_asked(self) -> bool:
        """Whether the first trial has the settings to start from; some may lie out of the space."""
        start = settings_of(self.plan.preset)
        return all(value == start[name] for name, value in self.trials[0].values.items())

    @property
    def best(self) -> Trial:
        """The finished trial of the best score, the first of equals; there must be one."""
        pick = min if self.score.metric.lower_is_better else max
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
        return replace(self.plan, preset=tried_preset(self.plan.preset, trial.values))


def tune(
    plan: RunPlan,
    data: NodeData,
    folder: Path,
    *,
    trials: int,
    fixed: Mapping[str, Any] | None = None,
    callbacks: Sequence[Callback] = (),
) -> Search:
    """Search for better settings of a model by the score that its training stops on.

    The test nodes are taken away first. Every trial is kept in the folder as soon as it ends, with
    the best settings beside it; the same call goes on where an earlier one stopped.

    Args:
        plan: The settings to start from, which the first trial has.
        data: As `plan.load()` gives it, on the device to train on.
        folder: Where the study and the best settings are kept; made if it does not exist.
        trials: How many to try, with those that the folder has already.
        fixed: Settings that are in the plan to stay.
        callbacks: Told of every epoch, with the number of trials done as the index. Where one wants
            to stop, the trial is given up, and all before it are kept.
    """
    data = data.without_test()
    check_stopping(plan.preset.training, data)
    space = space_of(plan.run.model, plan.preset, fixed or {})
    score = Score.of(plan.preset.training.stop_on)
    settings = plan.to_dict()
    # A trial is one model, whatever is made of the best settings.
    del settings["run"]["ensemble"]
    about = {
        **settings,
        "data": DataFacts.of(data).to_dict(),
        "space": {each.name: each.to_dict() for each in space},
    }
    file = folder / STUDY_FILE
    with (
        _opened(folder),
        storage_errors(file),
        closing(Study(file, parse_json(json_text(about)), score)) as study,
    ):
        nodes = data.split.val.numel()
        result = partial(Search, plan, space, score, data.split.label, num_val=nodes)
        while (done := len(study.trials)) < trials:
            trial, values = study.ask(space, plan.run.seed, settings_of(plan.preset))
            tried = replace(plan.members()[0], preset=tried_preset(plan.preset, values))
            try:
                _try(study, trial, tried, data, score, callbacks, done)
            except InterruptedRunError as error:
                raise InterruptedRunError(
                    f"Stopped with {done} of {trials} trials done, which are kept in {folder}; "
                    "the same command goes on."
                ) from error
            _write_best(result(study.trials), folder / BEST_FILE)
        search = result(study.trials, importance=study.importance())
        # Again: whoever was killed after the last trial may have left the file of the one before.
        _write_best(search, folder / BEST_FILE)
    if not search.finished:
        raise FailedRunsError(
            f"None of the {trials} trials came to a result, the first: {search.trials[0].error}"
        )
    return search


def _try(
    study: Study,
    trial: "optuna.Trial",
    plan: RunPlan,
    data: NodeData,
    score: Score,
    callbacks: Sequence[Callback],
    number: int,
) -> None:
    """Train one trial, and tell the study what it came to."""
    import optuna

    start = time.perf_counter()
    restarts = len(initial_values(plan.build(data), plan.preset.training))
    pruning = _Pruning(trial, score, restarts)

    def tell(state: TrialState, value: float = math.nan, error: str = "") -> None:
        seconds = time.perf_counter() - start
        study.tell(trial, state, value, epochs=pruning.epochs, seconds=seconds, error=error)

    device, sizes = data.y.device, Sizes.of(data)
    try:
        check_memory(plan, sizes, device)
        with memory_errors_explained(plan, device, sizes):
            fit = run_job(
                Job(plan), data, Session(callbacks=[*callbacks, pruning]), first_index=number
            ).result
    except optuna.TrialPruned:
        tell("pruned")
    except (DivergedError, OutOfMemoryError) as error:
        tell("failed", error=str(error))
    except (AkgnnError, KeyboardInterrupt):
        study.give_up(trial)
        raise
    else:
        tell("finished", score.value(fit))


class _Pruning(Callback):
    """Compares a trial on its way with others, and ends one that does worse than most."""

    def __init__(self, trial: "optuna.Trial", score: Score, restarts: int) -> None:
        self.trial, self.score, self.last = trial, score, restarts - 1
        self.epochs = 0

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        import optuna

        history = epochs[0].history
        self.epochs = len(history)
        epoch = history.start.count(self.last) if self.last else self.epochs
        # Of several restarts the first may be the worst: it takes all to be compared.
        if epoch and epoch % _EVERY == 0:
            self.trial.report(self.score.best(history), epoch)
            if self.trial.should_prune():
                raise optuna.TrialPruned


def _write_best(search: Search, file: Path) -> None:
    """Write the settings of the best trial; nothing where none has finished."""
    if not search.finished:
        return
    best = search.best
    head = (
        f"# Trial {best.number} of {len(search.trials)}: "
        f"{search.score.name} {search.score.text(best.score)}.\n"
        f"# Split {search.split}.\n\n"
    )
    write_file(file, (head + settings_toml(search.plan_of(best))).encode())


@contextmanager
def _opened(folder: Path) -> Iterator[None]:
    """Inside, the folder exists and is nobody else's."""
    if exists(folder) and not folder.is_dir():
        raise RunFolderError(f"{folder} is a file, not a folder.")
    is_empty = not folder.exists() or all(map(is_left_over, folder.iterdir()))
    if not is_empty and not (folder / STUDY_FILE).exists():
        raise RunFolderError(
            f"{folder} holds other files and no {STUDY_FILE}; choose an empty or a new folder."
        )
    make_folder(folder)
    with folder_lock(folder):
        yield
