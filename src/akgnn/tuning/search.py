"""`akgnn tune`: try settings one after the other, and keep the best."""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
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
from akgnn.experiments.record import without_test
from akgnn.training.folder_lock import folder_lock
from akgnn.training.history import History
from akgnn.training.loop import check_stopping
from akgnn.training.memory import Sizes
from akgnn.training.memory_check import check_memory, memory_errors_explained
from akgnn.training.plan import RunPlan
from akgnn.training.run import describe
from akgnn.training.starts import starts_of
from akgnn.training.train_runs import train_run
from akgnn.tuning.best_file import write_best
from akgnn.tuning.score import Score
from akgnn.tuning.space import settings_of, space_of
from akgnn.tuning.study import Study, storage_errors
from akgnn.tuning.trial import Search, TrialState

if TYPE_CHECKING:
    import optuna

STUDY_FILE, BEST_FILE = "study.db", "best.toml"
# How often a trial on its way is compared with others, in epochs.
_EVERY = 10


def tune(
    plan: RunPlan,
    data: NodeData,
    folder: Path,
    *,
    trials: int,
    fixed: Mapping[str, Any] | None = None,
    after_epoch: Callable[[int, History], None] = lambda number, history: None,
    should_stop: Callable[[], bool] = lambda: False,
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
        after_epoch: Called after each epoch with the number of trials done and the history.
        should_stop: Asked after each epoch; once true the trial is given up, and all before it
            are kept.
    """
    data = without_test(data)
    check_stopping(plan.preset.training, data)
    space = space_of(plan.which.model, plan.preset, fixed or {})
    score = Score.of(plan.preset.training.stop_on)
    about = {
        **plan.to_dict(),
        "data": describe(data),
        "space": {each.name: each.to_dict() for each in space},
    }
    file = folder / STUDY_FILE
    with (
        _opened(folder),
        storage_errors(file),
        closing(Study(file, json.loads(json.dumps(about)), score)) as study,
    ):
        result = partial(Search, plan, space, score, data.split.label)
        while (done := len(study.trials)) < trials:
            trial, values = study.ask(space, plan.which.seed, settings_of(plan.preset))
            tried = replace(plan, preset=plan.preset.updated(values))
            try:
                _try(study, trial, tried, data, score, partial(after_epoch, done), should_stop)
            except InterruptedRunError as error:
                raise InterruptedRunError(
                    f"Stopped with {done} of {trials} trials done, which are kept in {folder}; "
                    "the same command goes on."
                ) from error
            write_best(result(study.trials), folder / BEST_FILE)
        search = result(study.trials)
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
    after_epoch: Callable[[History], None],
    should_stop: Callable[[], bool],
) -> None:
    """Train one trial, and tell the study what it came to."""
    import optuna

    epochs, start = 0, time.perf_counter()
    last_start = len(starts_of(plan.build(data), plan.preset.training)) - 1

    def watch(history: History) -> None:
        nonlocal epochs
        epochs = len(history)
        after_epoch(history)
        epoch = history.start.count(last_start) if last_start else epochs
        # Of several starts the first may be the worst: it takes all to be compared.
        if epoch and epoch % _EVERY == 0:
            trial.report(score.best(history), epoch)
            if trial.should_prune():
                raise optuna.TrialPruned

    def tell(state: TrialState, value: float = math.nan, error: str = "") -> None:
        seconds = time.perf_counter() - start
        study.tell(trial, state, value, epochs=epochs, seconds=seconds, error=error)

    device, sizes = data.y.device, Sizes.of(data)
    try:
        check_memory(plan.preset, sizes, device)
        with memory_errors_explained(plan.preset, device, sizes):
            fit = train_run(plan, data, after_epoch=watch, should_stop=should_stop).fit
    except optuna.TrialPruned:
        tell("pruned")
    except (DivergedError, OutOfMemoryError) as error:
        tell("failed", error=str(error))
    except (AkgnnError, KeyboardInterrupt):
        study.give_up(trial)
        raise
    else:
        tell("finished", score.value(fit))


@contextmanager
def _opened(folder: Path) -> Iterator[None]:
    """Inside, the folder exists and is nobody else's."""
    if folder.exists() and not folder.is_dir():
        raise RunFolderError(f"{folder} is a file, not a folder.")
    if folder.exists() and any(folder.iterdir()) and not (folder / STUDY_FILE).exists():
        raise RunFolderError(
            f"{folder} holds other files and no {STUDY_FILE}; choose an empty or a new folder."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(f"Cannot make the folder {folder}: {error.strerror}.") from error
    with folder_lock(folder):
        yield
