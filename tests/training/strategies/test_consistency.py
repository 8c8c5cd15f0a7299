import pytest
import torch
import torch.nn.functional as F

from akgnn.data.catalogue import load_dataset
from akgnn.models.akgnn_grand import AKGNNGrand
from akgnn.models.gcn import GCN
from akgnn.ops.dropout import Noise
from akgnn.training.callbacks import Callback
from akgnn.training.fit import fit
from akgnn.training.settings import TrainSettings
from akgnn.training.strategies.consistency import (
    Consistency,
    ConsistencySettings,
    inconsistency,
    risen,
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


def by_the_formula(
    logits, passes, temperature, weight, distance="squared", confidence=0.0, risen=1.0
):
    """Written out node by node and class by class."""
    p = [F.softmax(scores.double(), 1) for scores in logits]
    train = DATA.split.train
    cross = sum(-p[s][i, DATA.y[i]].log() for s in range(passes) for i in train)
    distances = []
    for i in range(DATA.graph.num_nodes):
        mean = sum(p[s][i] for s in range(passes)).detach() / passes
        if max(mean) <= confidence / len(mean):
            continue
        powers = mean ** (1 / temperature)
        target = powers / powers.sum()
        for s in range(passes):
            if distance == "squared":
                distances.append(((p[s][i] - target) ** 2).sum())
            else:
                distances.append(-sum(t * q.log() for t, q in zip(target, p[s][i], strict=True)))
    total = sum(distances) / max(len(distances), 1)
    return cross / (passes * len(train)) + risen * weight * total


@pytest.mark.parametrize(
    "settings",
    [
        {"passes": 4, "temperature": 0.5, "weight": 1.0},
        {"passes": 2, "temperature": 0.3, "weight": 0.7},
        {"passes": 1, "temperature": 1.0, "weight": 2.0},
        {"passes": 2, "temperature": 0.3, "weight": 0.7, "confidence": 1.6},
        {"passes": 2, "temperature": 0.3, "weight": 0.7, "distance": "cross-entropy"},
        {
            "passes": 3,
            "temperature": 0.1,
            "weight": 0.8,
            "confidence": 1.5,
            "distance": "cross-entropy",
        },
    ],
    ids=str,
)
def test_equals_the_formula_in_value_and_gradient(settings):
    model = Watch()
    loss = one_loss(model, **settings)
    expected = by_the_formula(model.logits, **settings)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=1e-7)
    parameters = list(model.parameters())
    gradients = torch.autograd.grad(loss, parameters, retain_graph=True)
    for one, other in zip(gradients, torch.autograd.grad(expected, parameters), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_defaults_are_grands_loss_to_the_last_bit():
    model = Watch()
    loss = one_loss(model, passes=3)
    p = torch.stack(model.logits).softmax(-1)
    distance = (p - sharpened(p.detach().mean(0), 0.5)).square().sum(-1).mean((0, -1))
    train = DATA.split.train
    cross = [F.cross_entropy(scores[train], DATA.y[train]) for scores in model.logits]
    assert loss == torch.stack(cross).mean(0) + distance


def test_threshold_leaves_out_some_nodes_and_keeps_others():
    logits = torch.randn(2, 50, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    settings = ConsistencySettings(confidence=1.8)
    inconsistency(logits, settings).backward()
    is_confident = logits.detach().softmax(-1).mean(0).amax(-1) > 1.8 / 4
    assert 0 < is_confident.sum() < 50
    assert torch.equal(logits.grad.abs().sum((0, 2)) > 0, is_confident)


def test_threshold_that_no_node_reaches_leaves_the_plain_loss():
    # No largest probability is above 1.
    loss, plain = (one_loss(Watch(), **kind) for kind in ({"confidence": 4.0}, {"weight": 0.0}))
    assert loss == plain


def test_cross_entropy_has_a_gradient_where_the_square_has_none():
    logits = torch.tensor([[[60.0, 0.0]], [[0.0, 61.0]]]).requires_grad_()
    for distance, least in (("squared", 0.0), ("cross-entropy", 0.1)):
        (grad,) = torch.autograd.grad(
            inconsistency(logits, ConsistencySettings(distance=distance)), logits
        )
        assert bool(grad.isfinite().all())
        assert (grad.abs().max() > 0.1) == bool(least)


@pytest.mark.parametrize(("step", "share"), [(0, 0.25), (1, 0.5), (3, 1.0), (40, 1.0)])
def test_weight_rises_over_the_warm_up(step, share):
    model = Watch()
    settings = {"passes": 2, "temperature": 0.5, "weight": 3.0}
    loss = one_loss(model, step=step, warm_up=4, **settings)
    expected = by_the_formula(model.logits, **settings, risen=share)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=1e-7)


def test_replicas_warm_up_by_steps_of_their_own():
    steps = torch.tensor([0, 5, 90])
    assert risen(steps, 10).tolist() == pytest.approx([risen(step, 10) for step in (0, 5, 90)])
    assert risen(steps, 0) == 1


def test_training_that_is_resumed_in_the_warm_up_goes_on_with_it():
    class Kept(Callback):
        def __init__(self):
            self.snapshots = []

        def after_epoch(self, epochs):
            self.snapshots.append(epochs[0].snapshot())

    strategy = Consistency(ConsistencySettings(passes=2, weight=5.0, warm_up=8))
    settings, kept = TrainSettings(epochs=10), Kept()
    whole = fit(grand(), DATA, settings, strategy=strategy, callbacks=[kept])
    resumed = fit(grand(), DATA, settings, strategy=strategy, resume=kept.snapshots[3])
    assert resumed.history.train_loss == whole.history.train_loss


def grand(**settings):
    generator = torch.Generator().manual_seed(0)
    return AKGNNGrand(
        DATA.num_features,
        8,
        DATA.num_classes,
        num_layers=2,
        node_dropout=0.5,
        layer_dropout=0.0,
        generator=generator,
        **settings,
    )


@pytest.mark.parametrize("batch_norm", [False, True])
def test_phi_learns_from_a_pass_without_masks_and_weights_as_before(batch_norm):
    model, same = (grand(batch_norm=batch_norm) for _ in range(2))
    one_loss(same, passes=2).backward()
    one_loss(model, passes=2, phi_sees_masks=False).backward()
    train = DATA.split.train
    # With the running means that the passes left.
    clean = F.cross_entropy(same.eval()(DATA.x, DATA.graph)[train], DATA.y[train])
    phi = {name: p for name, p in same.named_parameters() if name.endswith("phi")}
    wanted = dict(zip(phi, torch.autograd.grad(clean, phi.values()), strict=True))
    for (name, one), other in zip(model.named_parameters(), same.parameters(), strict=True):
        torch.testing.assert_close(one.grad, wanted.get(name, other.grad))
        assert one.requires_grad
    assert model.training
    assert model.layers[0].phi.grad != same.layers[0].phi.grad


def test_models_without_learned_kernels_have_the_loss_of_the_passes():
    for build in (Watch, lambda: grand(learn_lambda=False)):
        assert one_loss(build(), phi_sees_masks=False) == one_loss(build())


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
