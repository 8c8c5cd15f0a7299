import pytest
import torch
import torch.nn.functional as F

from akgnn.data.catalogue import load_dataset
from akgnn.models.gcn import GCN
from akgnn.ops.dropout import Noise
from akgnn.training.strategies.consistency import (
    Consistency,
    ConsistencySettings,
    inconsistency,
    sharpened,
)
from akgnn.training.strategies.supervised import Supervised

DATA = load_dataset("csbm:num_nodes=60")


class Watch(torch.nn.Module):
    """Remembers what a model was given and gave."""

    def __init__(self, dropout=0.5):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.model = GCN(DATA.num_features, 8, 4, dropout=dropout, generator=generator)
        self.noises, self.logits = [], []

    def forward(self, x, graph, noise):
        self.noises.append(noise)
        self.logits.append(self.model(x, graph, noise))
        return self.logits[-1]


def one_loss(model, step=0, **settings):
    (loss,) = Consistency(ConsistencySettings(**settings)).losses(model, DATA, Noise(0, step))
    return loss


def by_the_formula(logits, passes, temperature, weight):
    """Written out node by node and class by class."""
    p = [F.softmax(scores.double(), 1) for scores in logits]
    train = DATA.split.train
    cross = sum(-p[s][i, DATA.y[i]].log() for s in range(passes) for i in train)
    distance = 0.0
    for i in range(DATA.graph.num_nodes):
        mean = sum(p[s][i] for s in range(passes)) / passes
        powers = mean.detach() ** (1 / temperature)
        target = powers / powers.sum()
        distance = distance + sum(((p[s][i] - target) ** 2).sum() for s in range(passes))
    return cross / (passes * len(train)) + weight * distance / (passes * DATA.graph.num_nodes)


@pytest.mark.parametrize(
    ("passes", "temperature", "weight"), [(4, 0.5, 1.0), (2, 0.3, 0.7), (1, 1.0, 2.0)]
)
def test_equals_the_formula_in_value_and_gradient(passes, temperature, weight):
    model = Watch()
    loss = one_loss(model, passes=passes, temperature=temperature, weight=weight)
    expected = by_the_formula(model.logits, passes, temperature, weight)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=1e-7)
    parameters = list(model.parameters())
    gradients = torch.autograd.grad(loss, parameters, retain_graph=True)
    for one, other in zip(gradients, torch.autograd.grad(expected, parameters), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_every_pass_and_every_step_has_its_own_masks():
    model = Watch()
    one_loss(model, passes=3)
    one_loss(model, step=1, passes=3)
    assert len(set(model.noises)) == 6
    assert not torch.equal(model.logits[0], model.logits[1])
    assert one_loss(model) == one_loss(model)


def test_one_pass_without_weight_is_the_plain_loss_up_to_its_masks():
    (plain,) = Supervised().losses(Watch(0.0), DATA, Noise(0))
    torch.testing.assert_close(one_loss(Watch(0.0), passes=1, weight=0.0), plain)


def test_equal_and_certain_passes_have_no_distance():
    certain = 1e4 * torch.eye(4).expand(3, 4, 4)
    for distance in ("squared", "cross-entropy"):
        assert inconsistency(certain, ConsistencySettings(distance=distance)) == 0


@pytest.mark.parametrize("temperature", [1e-6, 0.2, 1.0])
def test_sharpening_leaves_probabilities(temperature):
    p = torch.tensor([[0.2, 0.5, 0.3, 0.0], [0.25, 0.25, 0.25, 0.25]])
    sharp = sharpened(p, temperature)
    torch.testing.assert_close(sharp.sum(1), torch.ones(2))
    torch.testing.assert_close(sharp[1], p[1])
    if temperature == 1:
        torch.testing.assert_close(sharp, p)
    else:
        assert sharp[0, 1] > 0.5
