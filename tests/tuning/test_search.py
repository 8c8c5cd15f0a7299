import math
import signal
import subprocess
import sys
import tomllib
from copy import deepcopy
from dataclasses import replace

import pytest

from akgnn.data.catalogue import load_dataset
from akgnn.errors import DataError, FailedRunsError, InterruptedRunError, RunFolderError
from akgnn.files import folder_lock
from akgnn.runs.jobs import Job, run_job
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.training.callbacks import Callback, StopWhen
from akgnn.training.score import Score
from akgnn.tuning import search as module
from akgnn.tuning.search import Search, tune
from akgnn.tuning.space import Dimension
from akgnn.tuning.study import Trial

DATASET = "csbm:num_nodes=100"


def make(model="mlp", **changes):
    return RunPlan.make(
        RunSettings(dataset=DATASET, model=model), {"epochs": 4, "hidden_channels": 4, **changes}
    )


class Watching(Callback):
    """Remembers the number and a copy of the history of every trial after every epoch."""

    def __init__(self):
        self.seen = []

    def after_epoch(self, epochs):
        self.seen += [(epoch.index, deepcopy(epoch.history)) for epoch in epochs]


def test_the_first_trial_is_the_plan_itself_without_test_nodes(tmp_path):
    plan = make(hidden_channels=64)
    search = tune(plan, plan.load(), tmp_path / "tuned", trials=1)
    (trial,) = search.trials
    fit = run_job(Job(plan), plan.load()).result
    assert trial.score == fit.val_loss
    assert (trial.state, trial.epochs) == ("finished", 4)
    assert search.plan_of(trial) == plan
    assert "-without-test:" in search.split
    assert search.num_val == plan.load().split.val.numel()
    assert search.start is trial
    assert search.starts_as_asked


def test_a_trial_of_an_ensemble_is_one_model_and_the_best_settings_are_of_all(tmp_path):
    plan, watching = make(), Watching()
    ensemble = replace(plan, run=replace(plan.run, ensemble=3))
    found = tune(ensemble, plan.load(), tmp_path, trials=2, callbacks=[watching])
    assert len(watching.seen) == 2 * 4
    assert tomllib.loads((tmp_path / "best.toml").read_text())["run"]["ensemble"] == 3
    # The same search, whatever is made of its settings.
    assert tune(plan, plan.load(), tmp_path, trials=2).trials == found.trials


def test_the_test_nodes_cannot_be_looked_at(tmp_path, monkeypatch):
    seen = []

    def spy(job, data, *options, **more):
        seen.append(data.split.test.numel())
        return run_job(job, data, *options, **more)

    monkeypatch.setattr(module, "run_job", spy)
    tune(make(), make().load(), tmp_path / "tuned", trials=2)
    assert seen == [0, 0]


def test_trials_count_those_that_are_there(tmp_path):
    plan, data, watching = make(), make().load(), Watching()
    one = tune(plan, data, tmp_path, trials=2, callbacks=[watching])
    two = tune(plan, data, tmp_path, trials=4, callbacks=[watching])
    # Trials are told apart, and each has four epochs.
    assert [index for index, _ in watching.seen] == [k for k in range(4) for _ in range(4)]
    assert two.trials[:2] == one.trials
    assert tune(plan, data, tmp_path, trials=3, callbacks=[watching]).trials == two.trials
    assert len(watching.seen) == 16


def test_the_best_settings_are_those_of_the_best_trial(tmp_path):
    plan = make("gcn", hidden_channels=16, epochs=15)
    search = tune(plan, plan.load(), tmp_path, trials=5)
    assert search.best.score == min(trial.score for trial in search.finished)
    kept = tomllib.loads((tmp_path / "best.toml").read_text(encoding="utf-8"))
    best = RunPlan.from_dict(kept)
    assert best == search.plan_of(search.best)
    assert run_job(Job(best), best.load()).result.val_loss == search.best.score


def test_accuracy_is_maximised_where_it_is_stopped_on(tmp_path):
    plan = make("gcn", stop_on="accuracy", epochs=10)
    search = tune(plan, plan.load(), tmp_path, trials=4)
    assert search.best.score == max(trial.score for trial in search.finished)


def stop_after(number):
    asked = iter([False] * number + [True] * 10_000)
    return StopWhen(lambda: next(asked))


def test_stopping_keeps_what_is_done_and_goes_on_as_if_nothing_had_happened(tmp_path):
    plan, data = make(), make().load()
    whole = tune(plan, data, tmp_path / "whole", trials=4)
    with pytest.raises(InterruptedRunError, match=r"Stopped with 2 of 4 trials done, .* goes on"):
        # Every trial asks after each of its four epochs.
        tune(plan, data, tmp_path / "parts", trials=4, callbacks=[stop_after(9)])
    assert (tmp_path / "parts" / "best.toml").exists()
    parts = tune(plan, data, tmp_path / "parts", trials=4)
    assert [(t.values, t.score) for t in parts.trials] == [
        (t.values, t.score) for t in whole.trials
    ]


# What `tune` does, up to an epoch at which the process is killed.
KILLED = """
import os, signal, sys
from pathlib import Path
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.training.callbacks import StopWhen
from akgnn.tuning.search import tune

epochs = iter(range(int(sys.argv[2])))
def look():
    if next(epochs, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)
    return False

plan = RunPlan.make(
    RunSettings(dataset="csbm:num_nodes=100", model="mlp"), {"epochs": 4, "hidden_channels": 4}
)
tune(plan, plan.load(), Path(sys.argv[1]), trials=14, callbacks=[StopWhen(look)])
"""


def test_a_search_that_was_killed_ends_with_the_same_files(tmp_path):
    plan, data = make(), make().load()
    # Beyond the tenth trial the sampler learns from those before.
    whole = tune(plan, data, tmp_path / "whole", trials=14)
    for epochs in (1, 46):
        killed = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "parts", str(epochs)])
        assert killed.returncode == -signal.SIGKILL
    parts = tune(plan, data, tmp_path / "parts", trials=14)
    seconds = {"seconds": 0.0}
    assert [replace(t, **seconds) for t in parts.trials] == [
        replace(t, **seconds) for t in whole.trials
    ]
    one, other = ((tmp_path / name / "best.toml").read_bytes() for name in ("whole", "parts"))
    assert one == other


def test_the_best_settings_are_written_even_if_the_last_trial_ended_with_a_kill(tmp_path):
    plan, data = make(), make().load()
    tune(plan, data, tmp_path, trials=2)
    best = (tmp_path / "best.toml").read_bytes()
    (tmp_path / "best.toml").write_text("# Of the trial before.")
    tune(plan, data, tmp_path, trials=2)
    assert (tmp_path / "best.toml").read_bytes() == best


def test_a_hopeless_trial_is_pruned(tmp_path):
    # After five trials, and from epoch 50 on, those below the median end.
    plan = make("gcn", epochs=60, hidden_channels=16)
    search = tune(plan, plan.load(), tmp_path, trials=12)
    pruned = [trial for trial in search.trials if trial.state == "pruned"]
    assert pruned
    assert all(50 <= trial.epochs < 60 and math.isfinite(trial.score) for trial in pruned)
    assert search.best.state == "finished"


def test_several_restarts_are_all_tried_before_a_trial_may_be_pruned(tmp_path, monkeypatch):
    class Stern(module.Study):
        def ask(self, *arguments):
            trial, values = super().ask(*arguments)
            monkeypatch.setattr(type(trial), "should_prune", lambda self: True)
            return trial, values

    monkeypatch.setattr(module, "Study", Stern)
    plan, watching = make("akgnn", kernel="signed", epochs=15), Watching()
    with pytest.raises(FailedRunsError):
        tune(
            plan,
            plan.load(),
            tmp_path,
            trials=1,
            fixed={"kernel": "signed"},
            callbacks=[watching],
        )
    # Three restarts of 15 epochs, the last of which is asked after its tenth.
    restarts = [history.start[-1] for _, history in watching.seen]
    assert [restarts.count(number) for number in range(3)] == [15, 15, 10]


def test_trials_that_diverge_are_kept_as_failed(tmp_path):
    plan = make(learning_rate=1e30)
    with pytest.raises(FailedRunsError, match="None of the 2 trials came to a result, the first: "):
        tune(plan, plan.load(), tmp_path, trials=2, fixed={"learning_rate": 1e30})
    assert not (tmp_path / "best.toml").exists()


def test_a_mistake_in_the_settings_is_no_trial(tmp_path):
    plan = make("akgnn", hidden_channels=3, groups=3)
    with pytest.raises(ValueError, match="cannot be shared out evenly among groups=3"):
        tune(plan, plan.load(), tmp_path, trials=2)
    search = tune(plan, plan.load(), tmp_path / "fixed", trials=1, fixed={"hidden_channels": 3})
    assert len(search.trials) == 1


def test_another_plan_or_other_data_are_refused(tmp_path):
    tune(make(), make().load(), tmp_path, trials=1)
    with pytest.raises(RunFolderError, match="holds another search: its epochs is 4, not 5"):
        tune(make(epochs=5), make().load(), tmp_path, trials=1)
    other = load_dataset("csbm:num_nodes=120")
    with pytest.raises(RunFolderError, match="its num_nodes is 100, not 120"):
        tune(make(), other, tmp_path, trials=1)


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RunFolderError, match=r"holds other files and no study\.db"):
        tune(make(), make().load(), tmp_path, trials=1)
    with pytest.raises(RunFolderError, match="is a file, not a folder"):
        tune(make(), make().load(), tmp_path / "notes.txt", trials=1)
    with pytest.raises(RunFolderError, match="Cannot write to the folder"):
        tune(make(), make().load(), tmp_path / "notes.txt" / "x", trials=1)


def test_two_processes_cannot_search_in_one_folder(tmp_path):
    with folder_lock(tmp_path), pytest.raises(RunFolderError, match="Another process"):
        tune(make(), make().load(), tmp_path, trials=1)


def search_of(*trials):
    plan = RunPlan.make(RunSettings(dataset="csbm", split="60/20/20"))
    space = (Dimension("learning_rate", 1e-6, 0.1, log=True),)
    return Search(plan, space, Score.of("accuracy"), "random:0", trials)


def test_the_best_file_says_where_the_settings_come_from(tmp_path):
    best = Trial(3, "finished", 81.25, {"learning_rate": 1.3e-5}, 9, 1.0)
    search = search_of(best, replace(best, number=4, score=60.0))
    module._write_best(search, tmp_path / "best.toml")
    text = (tmp_path / "best.toml").read_text(encoding="utf-8")
    assert text.startswith(
        "# Trial 3 of 2: validation accuracy 81.2 %.\n# Split random:0.\n\n[run]\n"
    )
    assert tomllib.loads(text)["training"]["learning_rate"] == 1.3e-5
    assert RunPlan.from_dict(tomllib.loads(text)) == search.plan_of(best)
    assert list(tmp_path.iterdir()) == [tmp_path / "best.toml"]


def test_nothing_is_written_where_nothing_has_finished(tmp_path):
    module._write_best(search_of(Trial(0, "pruned", 1.0, {}, 1, 1.0)), tmp_path / "best.toml")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    search = search_of(Trial(0, "finished", 1.0, {"learning_rate": 0.1}, 1, 1.0))
    with pytest.raises(RunFolderError, match=r"Cannot write .*best.toml: No such file"):
        module._write_best(search, tmp_path / "none" / "best.toml")


def test_there_have_to_be_validation_nodes():
    with pytest.raises(DataError, match="The validation set is empty"):
        load_dataset(DATASET, split="90/0/10")


SPACE = (Dimension("learning_rate", 0.001, 0.1, log=True),)
TRIALS = (
    Trial(0, "finished", 0.7, {"learning_rate": 0.01}, 10, 1.0),
    Trial(1, "pruned", 0.1, {"learning_rate": 0.1}, 5, 0.5),
    Trial(2, "finished", 0.5, {"learning_rate": 0.02}, 10, 1.0),
    Trial(3, "failed", math.nan, {"learning_rate": 0.09}, 0, 0.1, "It diverged."),
    Trial(4, "finished", 0.5, {"learning_rate": 0.03}, 10, 1.0),
)


def searched(stop_on):
    plan = RunPlan.make(RunSettings(dataset="csbm"), {"epochs": 7})
    return Search(plan, SPACE, Score.of(stop_on), "public:0", TRIALS)


def test_the_best_has_finished_and_is_the_first_of_equals():
    assert searched("loss").best.number == 2
    assert searched("accuracy").best.number == 0


def test_the_plan_of_a_trial_keeps_what_was_not_searched():
    search = searched("loss")
    training = search.plan_of(search.best).preset.training
    assert (training.learning_rate, training.epochs) == (0.02, 7)


def test_trials_are_counted_by_how_they_ended():
    search = searched("loss")
    assert [search.count(state) for state in ("finished", "pruned", "failed")] == [3, 1, 1]
