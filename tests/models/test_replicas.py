"""Every model that can be stacked: replica i is model i."""

import pytest
import torch
import torch.nn.functional as F

from akgnn.errors import SettingsError
from akgnn.models.akgnn import AKGNN
from akgnn.models.registry import MODELS, build_model, find_model
from akgnn.models.replicas import can_stack, put_replica, select_replicas, stack, unstack
from akgnn.ops.dropout import Noise
from oracles import random_graph, sparse

SEEDS, STEPS = [3, 0, 7], [0, 4, 2]
NOT_STACKABLE = {"gat", "gaugo", "graphsage"}

VARIANTS = [
    {},
    {"learn_lambda": False, "kernel_start": 2.0},
    {"share_weights": False},
    {"normalisation": "row"},
    {"normalisation": "directed", "kernel": "signed"},
    {"groups": 2},
    {"groups": 4, "kernel": "signed", "normalisation": "directed"},
    {"kernel": "smooth"},
    {"kernel": "signed", "kernel_start": -0.5},
    {"classifier_layers": 3, "activation": "leaky_relu"},
    {"node_dropout": 0.5, "input_dropout": 0.0},
    {"transform_bias": False, "layer_dropout": 0.0},
    *({"readout": readout} for readout in ("mean", "max", "concat", "last")),
    *(
        {"order": "propagate-first", "node_dropout": 0.5, **more}
        for more in (
            {"layer_dropout": 0.0, "input_dropout": 0.0},
            {"readout": "concat"},
            {"readout": "max", "node_dropout": 0.0, "layer_dropout": 0.0},
            {"readout": "mean", "batch_norm": True, "layer_dropout": 0.0},
            {"readout": "mean", "batch_norm": True, "node_dropout": 0.0},
        )
    ),
    *(
        {"order": "blocks", **more}
        for more in (
            {"norm": "layer", "groups": 2},
            {"norm": "batch", "input_transform": False, "readout": "concat"},
            {"residual": False, "kernel": "signed", "normalisation": "directed"},
        )
    ),
]
CASES = [(name, {}) for name in MODELS if name not in NOT_STACKABLE]
CASES += [("akgnn", variant) for variant in VARIANTS[1:]]
CASES += [
    (name, {"form": "blocks", "num_layers": 3, **more})
    for name in ("gcn", "graphsage")
    for more in (
        {"norm": "layer", "input_dropout": 0.3},
        {"norm": "batch", "input_transform": True, "readout": "concat"},
        {"residual": False},
    )
]
CASES += [("mlp", {"norm": "layer"}), ("mlp", {"norm": "batch", "num_layers": 3})]
CASES += [("jknet", {"readout": "max"}), ("gcn", {"num_layers": 3}), ("appnp", {"dropout": 0.0})]


def build(name, options, seed):
    settings = find_model(name).settings.from_mapping(options)
    return build_model(name, settings, 6, 3, seed=seed).double()


def models_of(name, options):
    models = [build(name, options, seed) for seed in SEEDS]
    for model, seed in zip(models, SEEDS, strict=True):
        generator = torch.Generator().manual_seed(seed)
        for parameter in model.parameters():
            # Scalars and biases too must differ between replicas.
            moved = torch.rand(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.data += 0.2 * moved
    return models


def features(kind):
    x = torch.rand(12, 6, dtype=torch.float64) * (torch.rand(12, 6) < 0.6)
    return sparse(x) if kind == "sparse" else x


def noises():
    return Noise(torch.tensor(SEEDS), torch.tensor(STEPS))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_replica_is_its_model(name, options, kind):
    graph, x = random_graph(0, directed=options.get("normalisation") == "directed"), features(kind)
    models = models_of(name, options)
    stacked = stack(models)
    weights = torch.rand(12, 3, dtype=torch.float64)
    # Two steps, so that running means of a normalisation count.
    for _ in range(2):
        out = stacked(x, graph, noises())
        assert out.shape == (3, 12, 3)
        stacked.zero_grad()
        (out * weights).sum().backward()
        parameters = dict(stacked.named_parameters())
        for number, (model, seed, step) in enumerate(zip(models, SEEDS, STEPS, strict=True)):
            alone = model(x, graph, Noise(seed, step))
            torch.testing.assert_close(out[number], alone, rtol=1e-10, atol=1e-10)
            model.zero_grad()
            (alone * weights).sum().backward()
            for key, parameter in model.named_parameters():
                if parameter.grad is not None:
                    found = parameters[key].grad[number]
                    torch.testing.assert_close(found, parameter.grad, rtol=1e-9, atol=1e-9)
    stacked.eval()
    out = stacked(x, graph)
    for number, model in enumerate(models):
        alone = model.eval()(x, graph)
        torch.testing.assert_close(out[number], alone, rtol=1e-10, atol=1e-10)
        for key, tensor in unstack(stacked, number).items():
            torch.testing.assert_close(tensor, model.state_dict()[key], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_says_whether_it_can_be_stacked(name):
    model = build(name, {}, 0)
    assert can_stack(type(model)) == (name not in NOT_STACKABLE)
    if name in NOT_STACKABLE:
        with pytest.raises(SettingsError, match="cannot be stacked"):
            stack([model, model])


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("normalisation", ["row", "directed"])
def test_scalars_and_shares_of_a_replica_are_its_models(groups, normalisation):
    graph = random_graph(0, directed=True)
    models = models_of("akgnn", {"groups": groups, "normalisation": normalisation})
    stacked = stack(models)
    for number, model in enumerate(models):
        torch.testing.assert_close(stacked.lambda_max[number], model.lambda_max)
        share = stacked.neighbour_share(graph)[number]
        torch.testing.assert_close(share, model.neighbour_share(graph))


def test_replicas_can_leave_and_be_replaced():
    models = models_of("akgnn", {"groups": 2})
    other = models_of("akgnn", {"groups": 2})[1].requires_grad_(True)
    other.layers[0].restart(3.0)
    stacked = stack(models)
    select_replicas(stacked, torch.tensor([2, 0]))
    put_replica(stacked, 1, other)
    assert isinstance(stacked.transforms[0].weight, torch.nn.Parameter)
    for number, model in enumerate([models[2], other]):
        state = unstack(stacked, number)
        assert list(state) == list(model.state_dict())
        assert all(torch.equal(state[key], value) for key, value in model.state_dict().items())
    # What is not part of a state moves along too.
    assert stacked.layers[0].phi_initial.tolist() == [[[1.0, 1.0]], [[2.0, 2.0]]]


def test_stacking_copies():
    model = build("akgnn", {}, 0)
    before = model.state_dict()["classifier.0.weight"].clone()
    stacked = stack([model, model])
    with torch.no_grad():
        stacked.classifier[0].weight.zero_()
    assert torch.equal(model.state_dict()["classifier.0.weight"], before)


def test_models_of_other_shapes_are_refused():
    with pytest.raises(SettingsError, match="with the same settings"):
        stack([AKGNN(6, 8, 3), AKGNN(6, 16, 3)])


def test_weights_that_do_not_learn_stay_so():
    stacked = stack([build("akgnn", {"learn_lambda": False}, seed) for seed in SEEDS])
    assert not stacked.layers[0].phi.requires_grad
    assert stacked.transforms[0].weight.requires_grad


def test_one_loss_for_all_gives_each_its_own_gradient():
    graph, x, y = random_graph(0), features("dense"), torch.arange(12) % 3
    models = models_of("gcn", {})
    stacked = stack(models)
    logits = stacked(x, graph, noises())
    F.cross_entropy(logits.flatten(0, 1), y.repeat(3), reduction="sum").backward()
    for number, (model, seed, step) in enumerate(zip(models, SEEDS, STEPS, strict=True)):
        F.cross_entropy(model(x, graph, Noise(seed, step)), y, reduction="sum").backward()
        found = stacked.layers[0].linear.weight.grad[number]
        torch.testing.assert_close(found, model.layers[0].linear.weight.grad)
