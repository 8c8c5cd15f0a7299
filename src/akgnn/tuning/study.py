"""The study: an SQLite file that keeps the trials of a search, read and written by optuna."""

import math
import sqlite3
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from akgnn.codec import MISFITS, cause_of
from akgnn.errors import MissingExtraError, RunFolderError
from akgnn.text import in_one_line
from akgnn.training.score import Score
from akgnn.tuning.space import Dimension, Value, rounded

if TYPE_CHECKING:
    import optuna

TrialState = Literal["finished", "pruned", "failed"]
Direction = Literal["minimize", "maximize"]

_NAME = "akgnn"
_ABOUT, _RESULT = "about", "result"
# Tables that optuna has had in all releases; it would make those that are missing again, empty.
_TABLES = (
    "study_directions", "study_user_attributes", "trials", "trial_params", "trial_values",
    "trial_user_attributes", "version_info",
)  # fmt: skip
# Trials before the first may be pruned, and epochs before a trial may be.
_FIRST_TRIALS, _FIRST_EPOCHS = 5, 50
# Importance is that for being among the best quarter, which should have five trials or more.
_BEST_SHARE = 0.25
FEWEST_FOR_IMPORTANCE = 20


@dataclass(frozen=True)
class Trial:
    """One try, with its values of the settings that are searched.

    It finished, was pruned for doing worse than most, or failed, for the reason in `error`. The
    score is that on the validation nodes; of a pruned trial its last, of a failed one NaN. The
    number counts those that came to an end: it is the same whether a search was killed or not.
    """

    number: int
    state: TrialState
    score: float
    values: Mapping[str, Value]
    epochs: int
    seconds: float
    error: str = ""


def check_optuna() -> None:
    """Refuse to begin where the optional package is missing."""
    if not find_spec("optuna"):
        raise MissingExtraError("A search for settings", "tune")


def silence_optuna() -> None:
    """Leave the reporting to whoever called."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)


@contextmanager
def storage_errors(file: Path) -> Iterator[None]:
    """Inside, a file that cannot be read or written any more is an error that names it."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (StorageInternalError, SQLAlchemyError) as error:
        # What the database itself says, without the statement it was asked.
        cause = str(error.__cause__ or error).partition("\n")[0]
        raise RunFolderError(f"{file} cannot be read or written: {cause}.") from error


class Study:
    """Trials in an SQLite file, which is made if it does not exist.

    `about` says what is searched, by kind and name, so that another search is told apart.
    """

    def __init__(self, file: Path, about: Mapping[str, Mapping[str, Any]], score: Score) -> None:
        import optuna
        from sqlalchemy import URL

        _check_file(file)
        self._states = optuna.trial.TrialState
        direction: Direction = "minimize" if score.metric.lower_is_better else "maximize"
        with _reading_study(file), ExitStack() as stack:
            url = URL.create("sqlite", database=str(file.resolve()))
            self._storage = optuna.storages.RDBStorage(url.render_as_string())
            stack.callback(self.close)
            self.study = optuna.create_study(
                storage=self._storage,
                study_name=_NAME,
                direction=direction,
                pruner=optuna.pruners.MedianPruner(_FIRST_TRIALS, _FIRST_EPOCHS),
                load_if_exists=True,
            )
            kept = self.study.user_attrs.get(_ABOUT)
            if kept is None and self.study.get_trials(False):
                raise ValueError("it does not say what was searched")
            if kept is None:
                self.study.set_user_attr(_ABOUT, about)
            elif different := _difference(kept, about):
                raise RunFolderError(
                    f"{file} holds another search: its {different}. Choose another folder."
                )
            if [each.name.lower() for each in self.study.directions] != [direction]:
                raise ValueError(f"its scores are not those to {direction}")
            # Whoever tried these was killed: nobody else may be at work in the folder.
            for trial in self.study.get_trials(states=[self._states.RUNNING]):
                self.study.tell(trial.number, state=self._states.FAIL)
            for each in self.trials:
                _check_trial(each, set(about.get("space", each.values)))
            stack.pop_all()

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All that came to an end; those that were interrupted do not count."""
        ended = [self._states.COMPLETE, self._states.PRUNED]
        kept = self.study.get_trials(False, ended)
        return tuple(_plain(number, trial) for number, trial in enumerate(kept))

    def ask(
        self, space: tuple[Dimension, ...], seed: int, start: Mapping[str, Any]
    ) -> tuple["optuna.Trial", dict[str, Any]]:
        """Begin the next trial: a handle for `tell`, and its values.

        The first takes what the settings to start from have inside the space. A trial draws from
        its own seed, so that a search that was interrupted tries what it would have tried.
        """
        import optuna

        done = len(self.trials)
        if not done and not self.study.get_trials(states=[self._states.WAITING]):
            inside = {each.name: start[each.name] for each in space if each.holds(start[each.name])}
            self.study.enqueue_trial(inside)
        (own,) = np.random.SeedSequence([seed, done]).generate_state(1)
        self.study.sampler = optuna.samplers.TPESampler(seed=int(own), constant_liar=False)
        trial = self.study.ask()
        return trial, {each.name: each.suggest(trial) for each in space}

    def tell(
        self,
        trial: "optuna.Trial",
        state: TrialState,
        score: float,
        *,
        epochs: int,
        seconds: float,
        error: str = "",
    ) -> None:
        """Keep what a trial came to."""
        result = {"state": state, "epochs": epochs, "seconds": round(seconds, 3), "error": error}
        trial.set_user_attr(_RESULT, result)
        if state == "finished":
            self.study.tell(trial, score)
        else:
            # Failed ones too: the sampler learns to keep away from where training diverges.
            self.study.tell(trial, state=self._states.PRUNED)

    def importance(self) -> dict[str, float]:
        """What each setting had to do with a good score, the largest first; they add up to 1.

        By PED-ANOVA: how far the values of the best quarter of the finished trials are spread
        otherwise than those of all. Empty where too few have finished to tell.
        """
        from optuna.exceptions import ExperimentalWarning
        from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

        finished = self.study.get_trials(False, [self._states.COMPLETE])
        if len(finished) < FEWEST_FOR_IMPORTANCE:
            return {}
        with warnings.catch_warnings():
            # Releases of optuna before the fifth call it experimental.
            warnings.simplefilter("ignore", ExperimentalWarning)
            evaluator = PedAnovaImportanceEvaluator(target_quantile=_BEST_SHARE)
        return dict(get_param_importances(self.study, evaluator=evaluator))

    def close(self) -> None:
        """Close the file."""
        self._storage.remove_session()
        self._storage.engine.dispose()

    def give_up(self, trial: "optuna.Trial") -> None:
        """Let go of a trial that did not come to an end."""
        self.study.tell(trial, state=self._states.FAIL)


@contextmanager
def _reading_study(file: Path) -> Iterator[None]:
    """Inside, what optuna or we cannot make sense of is an error that names the file.

    Raises:
        RunFolderError: The file is damaged, or another release of optuna wrote it.
    """
    import optuna

    try:
        yield
    except RunFolderError:
        raise
    # Optuna tells a schema of another release by RuntimeError, and asserts what it reads.
    except (*MISFITS, RuntimeError, AssertionError, LookupError) as error:
        cause = in_one_line(cause_of(error))[:200] or type(error).__name__
        raise RunFolderError(
            f"{file} is damaged, or written by another release of optuna than {optuna.__version__}"
            f": {cause}. Choose another folder, or install that release."
        ) from error


def _check_trial(trial: Trial, names: set[str]) -> None:
    """Refuse a trial that does not have what is searched, or no score though it finished.

    Raises:
        ValueError: It does not.
    """
    if set(trial.values) != names:
        raise ValueError(f"trial {trial.number} has no value of {min(names ^ set(trial.values))}")
    if trial.state not in get_args(TrialState):
        raise ValueError(f"trial {trial.number} ended as {trial.state!r}")
    if trial.state == "finished" and not math.isfinite(trial.score):
        raise ValueError(f"trial {trial.number} has finished without a score")


def _plain(number: int, trial: "optuna.trial.FrozenTrial") -> Trial:
    result = trial.user_attrs[_RESULT]
    score = math.nan if trial.value is None or result["state"] == "failed" else trial.value
    values = {name: rounded(value) for name, value in trial.params.items()}
    return Trial(number=number, score=score, values=values, **result)


def _check_file(file: Path) -> None:
    """Refuse a file that is no SQLite database, or one of something else."""
    if not file.exists() or not file.stat().st_size:
        return
    try:
        # Not read-only: a kill in the middle of a change leaves one to take back, from a journal.
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=rw", uri=True)) as base:
            found = base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except sqlite3.DatabaseError as error:
        raise RunFolderError(f"{file} cannot be read as an SQLite file: {error}.") from error
    if found and ("studies",) not in found:
        raise RunFolderError(f"{file} is a database of something else; choose another folder.")
    for name in _TABLES:
        if found and (name,) not in found:
            raise RunFolderError(
                f"{file} is damaged: it has no table {name!r}; choose another folder."
            )


def _difference(kept: Any, about: Mapping[str, Mapping[str, Any]]) -> str:
    """The first thing in which two searches differ; empty where they are the same."""
    for kind, values in about.items():
        there = kept.get(kind, {})
        for name in {**values, **there}:
            one, other = there.get(name), values.get(name)
            if one != other:
                what = f"search space of {name}" if kind == "space" else name
                return f"{what} is {one}, not {other}"
    return ""
