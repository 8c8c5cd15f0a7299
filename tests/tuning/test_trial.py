import math

from akgnn.training.plan import RunPlan, RunSettings
from akgnn.tuning.score import Score
from akgnn.tuning.space import Dimension
from akgnn.tuning.trial import Search, Trial

SPACE = (Dimension("learning_rate", 0.001, 0.1, log=True),)
TRIALS = (
    Trial(0, "finished", 0.7, {"learning_rate": 0.01}, 10, 1.0),
    Trial(1, "pruned", 0.1, {"learning_rate": 0.1}, 5, 0.5),
    Trial(2, "finished", 0.5, {"learning_rate": 0.02}, 10, 1.0),
    Trial(3, "failed", math.nan, {"learning_rate": 0.09}, 0, 0.1, "It diverged."),
    Trial(4, "finished", 0.5, {"learning_rate": 0.03}, 10, 1.0),
)


def make(stop_on):
    plan = RunPlan.make(RunSettings(dataset="csbm"), {"epochs": 7})
    return Search(plan, SPACE, Score.of(stop_on), "public:0", TRIALS)


def test_the_best_has_finished_and_is_the_first_of_equals():
    assert make("loss").best.number == 2
    assert make("accuracy").best.number == 0


def test_the_plan_of_a_trial_keeps_what_was_not_searched():
    search = make("loss")
    training = search.plan_of(search.best).preset.training
    assert (training.learning_rate, training.epochs) == (0.02, 7)


def test_trials_are_counted_by_how_they_ended():
    search = make("loss")
    assert [search.count(state) for state in ("finished", "pruned", "failed")] == [3, 1, 1]
