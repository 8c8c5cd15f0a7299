"""Two layers; and numbers that never change, nor meet within one model or strategy."""

import itertools
from dataclasses import fields

import pytest
import torch

from akgnn.csr import CSR
from akgnn.errors import SettingsError
from akgnn.layers.dropout import Dropout, DropoutKey, NodeDropout
from akgnn.models.registry import MODELS, build_model, find_model
from akgnn.ops.dropout import Noise, dropout
from akgnn.training.strategies.registry import STRATEGIES
from akgnn.training.strategies.virtual_adversarial import VirtualAdversarialSettings

X = torch.rand(40, 8) + 1
BOTH = pytest.mark.parametrize("kind", [Dropout, NodeDropout])


def test_drops_by_seed_step_and_key():
    x = torch.ones(30, 8)
    noise = Noise(1, 2)
    assert torch.equal(Dropout(0.5, 3)(x, noise), dropout(x, 0.5, noise.key(3)))
    assert not torch.equal(Dropout(0.5, 3)(x, noise), Dropout(0.5, 4)(x, noise))


def test_sparse_features_stay_sparse_and_drop_alike():
    x = CSR.from_arrays(torch.tensor([0, 2, 3]), torch.tensor([0, 3, 1]), None, (2, 4))
    drop, noise = Dropout(0.5, 0), Noise(0)
    assert torch.equal(drop(x, noise).to_dense(), drop(x.to_dense(), noise))
    assert drop(x, noise).pattern is x.pattern


@pytest.mark.parametrize("rate", [0.0, 0.5])
@pytest.mark.parametrize("noise", [None, Noise(1, 2)])
def test_of_relu_is_what_it_makes_of_relu(rate, noise):
    x, drop = torch.randn(20, 6), Dropout(rate, 3).eval()
    assert torch.equal(drop.of_relu(x, noise), drop(x.relu(), noise))


def test_evaluation_keeps_everything():
    x = torch.ones(3, 4)
    assert Dropout(0.5, 0).eval()(x, None) is x


@BOTH
def test_training_without_noise_draws_from_torchs_generator(kind):
    drop, x = kind(0.5, 0), torch.ones(30, 8)
    torch.manual_seed(3)
    first, second = drop(x), drop(x)
    assert not torch.equal(first, second)
    torch.manual_seed(3)
    assert torch.equal(drop(x), first)


@BOTH
def test_rate_zero_draws_nothing(kind):
    before = torch.get_rng_state()
    x = torch.ones(3, 4)
    assert kind(0.0, 0)(x) is x
    assert torch.equal(torch.get_rng_state(), before)


@BOTH
def test_a_wrong_rate_is_refused(kind):
    with pytest.raises(SettingsError):
        kind(1.0, 0)


def test_a_row_is_kept_as_it_is_or_dropped_whole():
    out = NodeDropout(0.5, 0)(X, Noise(1, 2))
    kept = out.ne(0).all(1)
    assert 0 < int(kept.sum()) < 40
    assert torch.equal(out[kept], X[kept])
    assert torch.equal(out[~kept], torch.zeros_like(X[~kept]))


def test_nodes_are_dropped_by_seed_step_and_key():
    out = NodeDropout(0.5, 3)(X, Noise(1, 2))
    assert torch.equal(out, NodeDropout(0.5, 3)(X, Noise(1, 2)))
    for key, noise in ((4, Noise(1, 2)), (3, Noise(1, 3)), (3, Noise(2, 2))):
        assert not torch.equal(out, NodeDropout(0.5, key)(X, noise))


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.75])
def test_evaluation_gives_the_mean_of_training(rate):
    drop = NodeDropout(rate, 0)
    runs = 2000
    mean = torch.stack([drop(X, Noise(0, step)) for step in range(runs)]).mean(0)
    expected = drop.eval()(X, None)
    torch.testing.assert_close(expected, X * (1 - rate))
    error = X * (rate * (1 - rate) / runs) ** 0.5
    assert bool(((mean - expected).abs() < 5 * error).all())


@pytest.mark.parametrize("value", [None, torch.tensor([2.0, 3.0, 4.0])])
@pytest.mark.parametrize("noise", [None, Noise(0), Noise(1)])
def test_nodes_of_sparse_features_drop_alike(value, noise):
    x = CSR.from_arrays(torch.tensor([0, 2, 3]), torch.tensor([0, 3, 1]), value, (2, 4))
    drop = NodeDropout(0.5, 0).eval()
    out = drop(x, noise)
    assert torch.equal(out.to_dense(), drop(x.to_dense(), noise))
    assert out.pattern is x.pattern


# What runs of the past were trained with: changing a number changes the masks of a resumed run.
NUMBERS = {
    "INPUT": 0,
    "TRANSFORM": 1,
    "NODES": 2,
    "LAYER": 1_000,
    "CLASSIFIER": 1_000_000,
    "LAYER_INPUT": 0,
    "PROPAGATION": 2,
    "ATTENTION": 2,
    "NEIGHBOURS": 2,
    "BLOCK_ATTENTION": 2_000,
    "DROP_EDGE": 10_000_000,
    "BATCHES": 11_000_000,
    "BATCH_NODES": 12_000_000,
    "BATCH_SEED": 0,
    "NODE_ORDER": 13_000_000,
    "DIRECTIONS": 14_000_000,
    "PASS_SEED": 15_000_000,
    "SAMPLED_EDGES": 15_000_000,
    "OTHER_PAIRS": 16_000_000,
    "PRETRAINING": 17_000_000,
    "HIDDEN_LABELS": 18_000_000,
}


def most(settings, name):
    """The largest value that a setting may have."""
    (field,) = (field for field in fields(settings) if field.name == name)
    return field.metadata["high"]


def model_names(name):
    """The names that a model uses, each with how many numbers it may count on."""
    settings = find_model(name).settings
    key = DropoutKey
    if name == "akgnn":
        return [
            *((number, 1) for number in (key.INPUT, key.TRANSFORM, key.NODES)),
            (key.LAYER, most(settings, "num_layers")),
            (key.CLASSIFIER, most(settings, "classifier_layers")),
        ]
    two_layers = (key.LAYER_INPUT, 2)
    match name:
        case "appnp":
            return [two_layers, (key.PROPAGATION, most(settings, "num_layers"))]
        case "gprgnn":
            return [two_layers, (key.PROPAGATION, 1)]
        case "gat":
            return [two_layers, (key.ATTENTION, 2)]
        case "graphsage":
            return [two_layers, (key.NEIGHBOURS, 2)]
        case "chebynet" | "gaugo":
            return [two_layers]
        case "sgc" | "ssgc":
            return []
        case _:
            # JKNet's classifier is one layer more.
            return [(key.LAYER_INPUT, most(settings, "num_layers") + 1)]


def block_names(name):
    """Those of a baseline in blocks: its features, what enters and leaves each block, attention."""
    settings, key = find_model(name).settings, DropoutKey
    layers = most(settings, "num_layers")
    attention = [(key.BLOCK_ATTENTION, layers)] if name == "gat" else []
    return [(key.LAYER_INPUT, layers + 2), *attention]


MILLION = 1_000_000
STRATEGY_NAMES = {
    "supervised": [],
    "consistency": [(DropoutKey.PASS_SEED, 1000)],
    "masked-labels": [(DropoutKey.HIDDEN_LABELS, 1)],
    "drop-edge": [(DropoutKey.DROP_EDGE, 1)],
    # Batches are as many as training nodes at most.
    "layer-sampling": [(DropoutKey.BATCHES, 1), (DropoutKey.BATCH_NODES, MILLION)],
    # Sampled nodes and directions; optimised, a start and two passes a step, one more at the end.
    "virtual-adversarial": [
        (DropoutKey.NODE_ORDER, 1),
        (DropoutKey.DIRECTIONS, 1),
        (DropoutKey.PASS_SEED, 2 * most(VirtualAdversarialSettings, "steps") + 1),
    ],
    "edge-augmentation": [
        (DropoutKey.SAMPLED_EDGES, 1),
        (DropoutKey.OTHER_PAIRS, 1),
        (DropoutKey.PRETRAINING, 10**9),
    ],
}


def meet(names):
    """Whether two ranges have a number in common."""
    ranges = sorted((first, first + count) for first, count in names)
    return any(one[1] > other[0] for one, other in itertools.pairwise(ranges))


def test_no_number_ever_changes():
    found = {name: value for name, value in vars(DropoutKey).items() if name.isupper()}
    assert found == NUMBERS


def test_ranges_that_overlap_are_seen_here():
    assert meet([(2, 3), (4, 1)])
    assert not meet([(2, 2), (4, 1)])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("model", MODELS)
def test_no_two_names_of_a_model_and_its_strategy_meet(model, strategy):
    assert not meet([*model_names(model), *STRATEGY_NAMES[strategy]])


@pytest.mark.parametrize("model", MODELS)
def test_the_dropouts_of_a_model_have_the_numbers_listed_here(model):
    settings = find_model(model).settings()
    modules = build_model(model, settings, 4, 3).modules()
    keys = [m.key for m in modules if isinstance(m, Dropout | NodeDropout)]
    assert len(keys) == len(set(keys))
    ranges = [range(first, first + count) for first, count in model_names(model)]
    assert all(any(key in numbers for numbers in ranges) for key in keys)


@pytest.mark.parametrize("model", ["gat", "gcn", "graphsage"])
def test_the_dropouts_of_blocks_have_numbers_of_their_own(model):
    for names in STRATEGY_NAMES.values():
        assert not meet([*block_names(model), *names])
    settings = find_model(model).settings(form="blocks", input_transform=True)
    modules = build_model(model, settings, 4, 3).modules()
    keys = [m.key for m in modules if isinstance(m, Dropout)]
    assert len(keys) == len(set(keys)) == 4
    first, number = block_names(model)[0]
    assert all(key in range(first, first + number) for key in keys)
