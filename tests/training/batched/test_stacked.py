import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.models.replicas import stack
from akgnn.ops.dropout import Noise
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.training.batched.stacked import StackedRun, StackedTrainer, measure_replicas
from akgnn.training.fit import take_steps
from akgnn.training.state import TrainingState

DATA = load_dataset("csbm:num_nodes=80,homophily=0.7")
PLAN = RunPlan.make(RunSettings(dataset="csbm"), {"hidden_channels": 4, "epochs": 3})


def models(number):
    return [PLAN.with_seed(seed).build(DATA) for seed in range(number)]


def test_replicas_are_measured_as_each_alone():
    both = models(2)
    scores, columns = measure_replicas(stack(both), DATA)
    for number, model in enumerate(both):
        alone, column = measure_replicas(stack([model]), DATA)
        torch.testing.assert_close(scores[number], alone[0])
        for name, values in columns.items():
            torch.testing.assert_close(values[number], column[name][0])
    assert columns["lambda_max"].shape == (2, 5)


def test_more_runs_than_slots_take_turns():
    training, outcomes = PLAN.preset.training, {}
    runs = [
        StackedRun(index, index, TrainingState(model, DATA.graph, training, None))
        for index, model in enumerate(models(5))
    ]
    trainer = StackedTrainer(runs, DATA, PLAN.strategy(), 2, outcomes.setdefault)
    trained = []
    while trainer.advance():
        trained.append([epoch.index for epoch in trainer.train_epoch()])
    assert trained == [[0, 1]] * 3 + [[2, 3]] * 3 + [[4]] * 3
    assert list(outcomes) == [0, 1, 2, 3, 4]
    assert {outcome.epochs for outcome in outcomes.values()} == {3}


@pytest.mark.parametrize("number", [1, 3])
def test_an_epoch_gives_a_loss_for_each_replica(number):
    class NoSteps:
        def zero_grad(self):
            pass

        def step(self):
            pass

    seeds = torch.arange(number)
    noise = Noise(seeds, torch.zeros_like(seeds))
    losses = take_steps(stack(models(number)), DATA, NoSteps(), PLAN.strategy(), noise)
    assert losses.shape == (number,)
    assert not losses.requires_grad
