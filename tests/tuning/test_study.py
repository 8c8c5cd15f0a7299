import math
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from akgnn.errors import MissingExtraError, RunFolderError
from akgnn.training.score import Score
from akgnn.tuning import study as module
from akgnn.tuning.space import Dimension
from akgnn.tuning.study import FEWEST_FOR_IMPORTANCE, Study

SPACE = (Dimension("rate", 0.001, 0.1, log=True), Dimension("depth", 1, 9))
ABOUT = {"run": {"model": "gcn"}, "space": {each.name: each.to_dict() for each in SPACE}}
START = {"rate": 0.02, "depth": 3}


@pytest.fixture
def opened(tmp_path):
    """Opens the study in a file, again and again; all are closed at the end."""
    studies = []

    def begin(about=ABOUT, stop_on="loss"):
        studies.append(Study(tmp_path / "study.db", about, Score.of(stop_on)))
        return studies[-1]

    yield begin
    for study in studies:
        study.close()


def try_some(study, number, seed=0):
    """Tell the study scores that favour a low rate; gives the values that were tried."""
    tried = []
    for _ in range(number):
        trial, values = study.ask(SPACE, seed, START)
        study.tell(trial, "finished", values["rate"], epochs=5, seconds=1.0)
        tried.append(values)
    return tried


def test_the_first_trial_is_the_start(opened):
    study = opened()
    first, second = try_some(study, 2)
    assert first == START
    assert second != START
    assert [trial.values for trial in study.trials] == [first, second]


@pytest.mark.parametrize(("stop_on", "sign"), [("loss", 1), ("accuracy", -1)])
def test_what_the_score_depends_on_is_important(opened, stop_on, sign):
    study = opened(stop_on=stop_on)
    for k in range(FEWEST_FOR_IMPORTANCE + 4):
        trial, values = study.ask(SPACE, 0, START)
        assert study.importance() == {} or k >= FEWEST_FOR_IMPORTANCE
        # Pruned and failed trials do not count.
        state = "pruned" if k % 6 == 5 and k < FEWEST_FOR_IMPORTANCE else "finished"
        study.tell(trial, state, sign * values["rate"], epochs=5, seconds=1.0)
    importance = study.importance()
    assert list(importance) == ["rate", "depth"]
    assert importance["rate"] > 0.6
    assert sum(importance.values()) == pytest.approx(1)


def test_a_start_outside_the_space_is_drawn_instead(opened):
    study = opened()
    trial, values = study.ask(SPACE, 0, {"rate": 0.0, "depth": 3})
    assert values["depth"] == 3
    assert SPACE[0].holds(values["rate"])
    study.give_up(trial)


def test_the_seed_decides_what_is_tried(tmp_path):
    def tried(name, seed):
        (tmp_path / name).mkdir()
        file = tmp_path / name / "study.db"
        with closing(Study(file, ABOUT, Score.of("loss"))) as study:
            return try_some(study, 14, seed)

    one, same, other = tried("a", 3), tried("b", 3), tried("c", 4)
    assert one == same
    assert one != other
    # After ten random ones the sampler has learned where it is good.
    assert sum(values["rate"] < 0.01 for values in one[10:]) >= 3


def test_an_interrupted_search_tries_what_it_would_have_tried(tmp_path):
    with closing(Study(tmp_path / "whole.db", ABOUT, Score.of("loss"))) as study:
        whole = try_some(study, 6)
    parts = []
    for number in (0, 2, 1, 3):
        with closing(Study(tmp_path / "parts.db", ABOUT, Score.of("loss"))) as study:
            parts += try_some(study, number)
            # Killed in the midst of the next one.
            study.ask(SPACE, 0, START)
    assert parts == whole
    with closing(Study(tmp_path / "parts.db", ABOUT, Score.of("loss"))) as study:
        assert [trial.values for trial in study.trials] == whole


# Changes a database, and is killed with a part of the change in the file.
KILLED_CHANGE = """
import os, signal, sqlite3, sys
base = sqlite3.connect(sys.argv[1])
base.execute("PRAGMA cache_size = 1")
base.execute("BEGIN IMMEDIATE")
base.execute("CREATE TABLE more (text)")
for _ in range(300):
    base.execute("INSERT INTO more VALUES (?)", ("x" * 2000,))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_in_the_middle_of_a_change_is_taken_back(opened, tmp_path):
    study = opened()
    whole = try_some(study, 2)
    study.close()
    subprocess.run([sys.executable, "-c", KILLED_CHANGE, str(tmp_path / "study.db")])
    journal = tmp_path / "study.db-journal"
    assert journal.exists()
    assert [trial.values for trial in opened().trials] == whole
    assert not journal.exists()


def test_how_a_trial_ended_is_kept(opened):
    study = opened()
    for state in ("finished", "pruned", "failed"):
        trial, _ = study.ask(SPACE, 0, START)
        trial.report(0.75, 10)
        error = "It diverged." if state == "failed" else ""
        score = 0.5 if state == "finished" else math.nan
        study.tell(trial, state, score, epochs=10, seconds=1.5, error=error)
    trials = opened().trials
    assert [trial.state for trial in trials] == ["finished", "pruned", "failed"]
    assert [trial.score for trial in trials[:2]] == [0.5, 0.75]
    assert math.isnan(trials[2].score)
    assert trials[2].error == "It diverged."
    assert {(trial.epochs, trial.seconds) for trial in trials} == {(10, 1.5)}


def test_what_was_given_up_does_not_count(opened):
    study = opened()
    trial, _ = study.ask(SPACE, 0, START)
    study.give_up(trial)
    assert study.trials == ()
    assert try_some(study, 1) == [START]


def test_a_trial_that_does_worse_than_most_is_to_be_pruned(opened):
    study = opened()
    for _ in range(5):
        trial, _ = study.ask(SPACE, 0, START)
        for epoch in (40, 50):
            trial.report(0.5, epoch)
        assert not trial.should_prune()
        study.tell(trial, "finished", 0.5, epochs=50, seconds=1.0)
    trial, _ = study.ask(SPACE, 0, START)
    trial.report(0.9, 40)
    assert not trial.should_prune()
    trial.report(0.9, 50)
    assert trial.should_prune()
    study.give_up(trial)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"run": {"model": "mlp"}}, "its model is gcn, not mlp"),
        ({"run": {"model": "gcn", "dataset": "cora"}}, "its dataset is None, not cora"),
        ({"space": {**ABOUT["space"], "width": {}}}, "its search space of width is None, not"),
        ({"space": {"depth": ABOUT["space"]["depth"]}}, "its search space of rate is .*, not None"),
    ],
)
def test_another_search_is_refused(opened, about, message):
    opened()
    with pytest.raises(RunFolderError, match=message):
        opened({**ABOUT, **about})


def test_a_file_that_is_no_database_is_refused_and_left(opened, tmp_path):
    (tmp_path / "study.db").write_text("Dear diary, " * 200)
    with pytest.raises(RunFolderError, match="cannot be read as an SQLite file"):
        opened()
    assert (tmp_path / "study.db").read_text().startswith("Dear diary")


def test_a_damaged_database_is_refused(opened, tmp_path):
    opened().close()
    blob = (tmp_path / "study.db").read_bytes()
    (tmp_path / "study.db").write_bytes(blob[:16] + b"\xff" * (len(blob) - 16))
    with pytest.raises(RunFolderError, match="cannot be read as an SQLite file"):
        opened()


def test_a_database_of_something_else_is_refused(opened, tmp_path):
    with closing(sqlite3.connect(tmp_path / "study.db")) as base:
        base.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(RunFolderError, match="is a database of something else"):
        opened()


def test_a_trial_that_was_killed_before_it_was_told_does_not_count(opened):
    study = opened()
    trial, _ = study.ask(SPACE, 0, START)
    trial.set_user_attr("result", {"state": "finished", "epochs": 1, "seconds": 1, "error": ""})
    assert opened().trials == ()


def test_a_study_of_another_kind_is_an_error_that_names_the_file(tmp_path):
    file = tmp_path / "study.db"
    with closing(sqlite3.connect(file)) as base:
        base.execute("CREATE TABLE studies (name TEXT)")
    with (
        pytest.raises(RunFolderError, match=r"study\.db is damaged: it has no table"),
        module.storage_errors(file),
    ):
        Study(file, ABOUT, Score.of("loss"))


@pytest.mark.parametrize("name", ["a b", "größe", "50%41", "a#b", "it's"])
def test_folders_may_have_any_name(tmp_path, name):
    (tmp_path / name).mkdir()
    for number in (1, 0):
        with closing(Study(tmp_path / name / "study.db", ABOUT, Score.of("loss"))) as study:
            try_some(study, number)
            assert len(study.trials) == 1
    assert [file.name for file in (tmp_path / name).iterdir()] == ["study.db"]


def test_optuna_is_an_extra(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'akgnn\[tune\]'"):
        module.check_optuna()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("update alembic_version set version_num='v9.9.a'", "another release of optuna"),
        ("delete from trial_user_attributes", "'result' is missing"),
        ("update trial_user_attributes set value_json='{}'", "'state' is missing"),
        ("update trial_user_attributes set value_json='3'", "another release of optuna"),
        ("update trial_user_attributes set value_json='{'", "another release of optuna"),
        ("delete from study_user_attributes", "does not say what was searched"),
        ("update study_user_attributes set value_json='3'", "another release of optuna"),
        ("delete from trial_params", "trial 0 has no value of depth"),
        ("delete from trial_values", "trial 0 has finished without a score"),
        ("update trial_values set value=null", "AssertionError"),
        ("update trial_params set distribution_json='{}'", "'type' is missing"),
        ("update trials set state='STRANGE'", "'STRANGE' is not among"),
        ("delete from study_directions", "its scores are not those to minimize"),
        ("update study_directions set direction='MAXIMIZE'", "its scores are not those to"),
        ("drop table trials", "it has no table 'trials'"),
    ],
)
def test_a_damaged_study_is_told_in_a_line(change, message, opened, tmp_path):
    study = opened()
    try_some(study, 2)
    study.close()
    with closing(sqlite3.connect(tmp_path / "study.db")) as base:
        base.executescript(change)
        base.commit()
    with pytest.raises(RunFolderError, match=message) as error:
        opened()
    assert "\n" not in str(error.value)
