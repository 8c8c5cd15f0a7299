import pytest

from akgnn.data.catalogue import load_dataset
from akgnn.errors import DivergedError, InterruptedRunError
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.training.callbacks import Callback, Epoch, StopWhen, notify
from akgnn.training.fit import fit
from akgnn.training.history import History
from run_files import stop_after

DATA = load_dataset("csbm:num_nodes=80")
ROW = {"train_loss": 1.0, "train_accuracy": 1.0, "val_accuracy": 1.0, "lambda_max": []}


class Notes(Callback):
    """Remembers what it is told."""

    def __init__(self, said, name):
        self.said, self.name = said, name

    def after_epoch(self, epochs):
        self.said.append((self.name, "epoch", [epoch.index for epoch in epochs]))

    def before_stop(self, epochs):
        self.said.append((self.name, "stop", [epoch.index for epoch in epochs]))

    def after_run(self, index, outcome):
        self.said.append((self.name, "run", outcome))


def epochs_of(*indices, number=3):
    history = History()
    for _ in range(number):
        history.append(**ROW, val_loss=1.0)
    return [Epoch(index, history, lambda: None) for index in indices]


def fitted(callbacks, **changes):
    plan = RunPlan.make(RunSettings(dataset="csbm", model="mlp"), {"epochs": 4, **changes})
    return fit(plan.build(DATA), DATA, plan.preset.training, callbacks=callbacks)


def test_a_callback_that_overrides_nothing_lets_training_go_on():
    notify([Callback()], epochs_of(0))


def test_callbacks_are_told_in_their_order():
    said = []
    notify([Notes(said, "a"), Notes(said, "b")], epochs_of(0, 2))
    assert said == [("a", "epoch", [0, 2]), ("b", "epoch", [0, 2])]


def test_before_a_stop_everyone_has_seen_the_epoch_and_may_keep_it():
    said = []
    callbacks = [Notes(said, "a"), StopWhen(lambda: True), Notes(said, "b")]
    with pytest.raises(InterruptedRunError, match="Stopped after epoch 3"):
        notify(callbacks, epochs_of(1))
    assert said == [(name, kind, [1]) for kind in ("epoch", "stop") for name in ("a", "b")]


def test_nobody_is_asked_where_no_model_ended_an_epoch():
    notify([StopWhen(lambda: 1 / 0), Notes([], "a")], [])


def test_a_run_that_ends_hands_over_its_result():
    said = []
    result = fitted([Notes(said, "a"), Notes(said, "b")])
    assert said[-2:] == [("a", "run", result), ("b", "run", result)]
    assert len(said) == 2 * 4 + 2


def test_a_run_that_diverges_hands_over_its_error():
    said = []
    with pytest.raises(DivergedError) as caught:
        fitted([Notes(said, "a")], learning_rate=1e30)
    assert said[-1] == ("a", "run", caught.value)


def test_a_stopped_run_has_no_outcome():
    said = []
    with pytest.raises(InterruptedRunError, match="Stopped after epoch 2"):
        fitted([Notes(said, "a"), stop_after(2)])
    assert [kind for _, kind, _ in said] == ["epoch", "epoch", "stop"]
