import pyarrow as pa
import pytest
import torch

from akgnn.errors import (
    DataError,
    DeviceError,
    InterruptedRunError,
    OutOfMemoryError,
    SettingsError,
)
from akgnn.runs import memory
from akgnn.runs.api import train
from akgnn.training.callbacks import Callback, StopWhen
from run_files import names_in

SETTINGS = {"epochs": 4, "hidden_channels": 16}


def people(size=60):
    """Two columns of different kinds, two classes, and links in a ring."""
    ids = [f"p{number}" for number in range(size)]
    columns = {
        "id": ids,
        "age": [20 + 7 * number % 50 for number in range(size)],
        "town": [("Ulm", "Bonn", "Kiel")[number % 3] for number in range(size)],
        "label": [("a", "b")[number % 2] for number in range(size)],
    }
    links = {"source": ids, "target": [*ids[2:], *ids[:2]]}
    return {"nodes": pa.table(columns), "edges": pa.table(links), "settings": SETTINGS}


class Counting(Callback):
    def __init__(self):
        self.epochs = []

    def after_epoch(self, epochs):
        self.epochs.extend(epoch.index for epoch in epochs)


def test_an_ensemble_is_trained_by_the_plan_that_its_first_member_chose(tmp_path):
    run = train(**people(), ensemble=2, seed=3, out=tmp_path / "run")
    assert run.choice.chosen.plan == run.plan
    assert (run.plan.run.seed, len(run.members)) == (3, 2)
    assert run.members[0].val_loss == train(**people(), seed=3).result.val_loss
    again = train(**people(), ensemble=2, seed=3, out=tmp_path / "run", resume=True)
    assert again.choice is None
    assert again.to_dict() == run.to_dict()
    new = {"nodes": people(4)["nodes"].drop(["label"]), "edges": people(4)["edges"]}
    assert torch.equal(run.predict(**new).probability, again.predict(**new).probability)


@pytest.mark.parametrize("ensemble", [0, -1, 201, 1.5, True])
def test_an_ensemble_has_a_number_of_members(ensemble):
    with pytest.raises(SettingsError, match=r"ensemble must be (from 1 to 200|an integer), got"):
        train("csbm:num_nodes=60", ensemble=ensemble, settings=SETTINGS)


def test_validation_chooses_and_what_is_chosen_is_kept(tmp_path):
    run = train(**people(), out=tmp_path / "run")
    losses = {each.plan.run.preset: each.score for each in run.choice.tried}
    assert list(losses) == ["mixed-columns", "mixed-columns-no-labels", "mixed-columns-deep"]
    assert run.plan.run.preset == min(losses, key=losses.get)
    again = train(**people(), out=tmp_path / "run", resume=True)
    assert again.choice is None
    assert again.plan == run.plan
    assert again.result.to_dict() == run.result.to_dict()
    assert train(**people(), preset="mixed-columns").choice is None


def test_who_looks_on_sees_the_epochs_of_the_run_alone():
    counting = Counting()
    watched = train(**people(), vote=False, callbacks=[counting])
    restarts = len(watched.result.restarts) or 1
    assert counting.epochs == [0] * 4 * restarts
    # Trained a second time, it is the same.
    unwatched = train(**people(), vote=False)
    assert watched.result.scores == unwatched.result.scores
    states = watched.model.state_dict(), unwatched.model.state_dict()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_a_wish_to_stop_ends_the_choice_too(tmp_path):
    with pytest.raises(InterruptedRunError):
        train(**people(), callbacks=[StopWhen(lambda: True)], out=tmp_path / "run")
    assert names_in(tmp_path) == []


def test_training_that_does_not_fit_is_refused_before_a_folder_is_made(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "free_bytes", lambda device: 1000)
    with pytest.raises(OutOfMemoryError, match="Training needs about"):
        train("csbm:num_nodes=100", settings=SETTINGS, out=tmp_path / "run")
    assert names_in(tmp_path) == []
    assert train("csbm:num_nodes=100", settings=SETTINGS, force=True).result.epochs > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"edges": "e.csv"}, "Your own tables need `nodes`"),
        ({"weight": "w"}, "Your own tables need `nodes`"),
        ({"dataset": "cora", "nodes": "n.csv", "edges": "e.csv"}, "not both"),
        ({"features": "squared"}, "features must be one of"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(arguments, message):
    with pytest.raises(SettingsError, match=message):
        train(**arguments)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"settings": [1]}, SettingsError, "settings must be a dictionary of settings by name"),
        ({"callbacks": print}, SettingsError, "callbacks must be a list of Callback"),
        ({"checkpoint_seconds": "x"}, SettingsError, "must be a number, got str"),
        ({"out": 3}, SettingsError, "folder of a run is given as text or a Path, got int"),
        ({"device": None}, DeviceError, "Unknown device None"),
        ({"dataset": None, "nodes": 3, "edges": 4}, DataError, "must be a path or a DataFrame"),
    ],
)
def test_what_is_not_of_its_kind_is_refused(change, error, words):
    with pytest.raises(error, match=words):
        train(**{"dataset": "csbm:num_nodes=60", **change})
