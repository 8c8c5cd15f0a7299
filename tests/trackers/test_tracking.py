import pytest

from akgnn.errors import DivergedError, InterruptedRunError, SettingsError, UnknownNameError
from akgnn.runs.folder import RunFolder
from akgnn.runs.jobs import jobs_of, run_jobs
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.session import Session
from akgnn.trackers.tensorboard import TensorBoard
from akgnn.trackers.tracker import Tracker
from akgnn.trackers.tracking import Tracking, find_tracker, run_name
from run_files import stop_after

SETTINGS = {"epochs": 3, "hidden_channels": 8, "num_layers": 2}


def make_plans(number=2, **changes):
    which = RunSettings(dataset="csbm:num_nodes=150,homophily=0.8")
    plan = RunPlan.make(which, {**SETTINGS, **changes})
    return [plan.with_seed(seed) for seed in range(number)]


class Notes(Tracker):
    """Remembers what it is told."""

    def __init__(self):
        self.said = []

    def open(self):
        self.said.append("open")

    def begin(self, run, *, is_resumed):
        self.said.append((run, "begin", is_resumed))

    def epoch(self, run, number, row):
        self.said.append((run, number, row))

    def end(self, run, plan, result):
        self.said.append((run, "end", (plan, result)))

    def close(self):
        self.said.append("close")


def test_every_tracker_hears_every_epoch_and_result():
    notes, plans = [Notes(), Notes()], make_plans()
    with Tracking(notes, plans, [None, None]) as tracking:
        outcomes = run_jobs(jobs_of(plans), plans[0].load(), Session(callbacks=[tracking]))
    assert notes[0].said == notes[1].said
    assert (notes[0].said[0], notes[0].said[-1]) == ("open", "close")
    for run, outcome in enumerate(outcomes):
        said = [each for each in notes[0].said[1:-1] if each[0] == tracking.names[run]]
        assert [number for _, number, _ in said] == ["begin", 1, 2, 3, "end"]
        assert (said[0][2], said[-1][2]) == (False, (outcome.plan, outcome.result))
        history = outcome.result.history
        assert [row["loss/validation"] for _, _, row in said[1:-1]] == history.val_loss
        assert said[1][2]["lambda_max/layer 2"] == history.lambda_max[0][1]


def test_a_run_that_diverges_has_no_end():
    notes, plans = Notes(), make_plans(1, learning_rate=1e30)
    with Tracking([notes], plans, [None]) as tracking:
        (outcome,) = run_jobs(jobs_of(plans), plans[0].load(), Session(callbacks=[tracking]))
    assert isinstance(outcome, DivergedError)
    assert not [each for each in notes.said if each[1] == "end"]


def test_a_run_that_had_finished_is_not_told_again(tmp_path):
    plans, folders = make_plans(1), [RunFolder(tmp_path / "run")]
    data, notes = plans[0].load(), Notes()
    run_jobs(jobs_of(plans, folders), data)
    with Tracking([notes], plans, folders) as tracking:
        run_jobs(jobs_of(plans, folders), data, Session(resume=True, callbacks=[tracking]))
    assert notes.said == ["open", "close"]


def test_a_run_that_goes_on_is_told_from_its_first_epoch(tmp_path):
    plans, folders = make_plans(1), [RunFolder(tmp_path / "run")]
    data, notes = plans[0].load(), Notes()
    with pytest.raises(InterruptedRunError):
        run_jobs(jobs_of(plans, folders), data, Session(callbacks=[stop_after(2)]))
    with Tracking([notes], plans, folders) as tracking:
        (outcome,) = run_jobs(
            jobs_of(plans, folders), data, Session(resume=True, callbacks=[tracking])
        )
    said = notes.said[1:-1]
    assert [number for _, number, _ in said] == ["begin", 1, 2, 3, "end"]
    assert said[0][2] is True
    losses = [row["loss/validation"] for _, _, row in said[1:-1]]
    assert losses == outcome.result.history.val_loss


def test_trackers_are_closed_when_training_fails():
    notes = Notes()
    with pytest.raises(ZeroDivisionError), Tracking([notes], make_plans(1), [None]):
        raise ZeroDivisionError
    assert notes.said == ["open", "close"]


def test_a_name_stays_with_its_folder_and_suits_file_systems(tmp_path):
    plan, other = make_plans()
    name = run_name(plan, RunFolder(tmp_path / "a"))
    assert name == run_name(plan, RunFolder(tmp_path / "b" / ".." / "a"))
    assert name != run_name(plan, RunFolder(tmp_path / "b"))
    assert name != run_name(other, RunFolder(tmp_path / "a"))
    assert name.startswith("csbm-num_nodes-150-homophily-0.8-akgnn-paper-seed-0-")


def test_a_tracker_is_found_by_name_with_or_without_a_folder(tmp_path):
    found = find_tracker(f"tensorboard:{tmp_path}")
    assert isinstance(found, TensorBoard)
    assert found.folder == tmp_path
    assert find_tracker("tensorboard").folder.name == "runs"
    with pytest.raises(UnknownNameError, match=r"Did you mean 'mlflow'\? Choose from mlflow"):
        find_tracker("mlfow:x")


@pytest.mark.parametrize(
    "text", ["mlflow:http://server:5000", "mlflow:", "mlflow:sqlite:///x", "tensorboard:s3://a"]
)
def test_only_local_folders_will_do(text):
    with pytest.raises(
        SettingsError, match=r"writes to a local folder, as in (mlflow|tensorboard)"
    ):
        find_tracker(text)
