import pytest
import torch

from akgnn.csr import CSR
from akgnn.explain.neighbours import log_odds
from akgnn.explain.reach import by_distance, feature_effects
from akgnn.models.akgnn import AKGNN
from akgnn.models.registry import MODELS, build_model
from akgnn.training.presets import default_settings
from explain_data import Smoothing, star
from oracles import sparse


def test_a_linear_model_is_the_sum_of_its_effects():
    # With two classes the log-odds are a difference of logits, so nothing is rounded away.
    data = star()
    logits = Smoothing()(data.x, data.graph)
    effects = feature_effects(Smoothing(), data, 0, 1)
    assert float(effects.sum()) == pytest.approx(float(log_odds(logits[0], 1)), rel=1e-5)
    assert float(effects[5]) == 0
    assert float(effects[1]) > 0 > float(effects[2])


def test_effects_are_what_the_gradient_says():
    data = star(torch.rand(6, 2))
    effects = feature_effects(Smoothing(), data, 0, 0)
    for node in range(6):
        moved = data.x.clone()
        moved[node] *= 1.001
        change = [float(log_odds(Smoothing()(x, data.graph)[0], 0)) for x in (moved, data.x)]
        assert 1000 * (change[0] - change[1]) == pytest.approx(float(effects[node]), abs=2e-3)


@pytest.mark.parametrize("name", MODELS)
def test_sparse_features_give_the_same(name):
    data = star()
    model = build_model(name, default_settings(name).model, 2, 2).eval()
    few = star(sparse(data.x))
    expected = feature_effects(model, data, 0, 1)
    torch.testing.assert_close(feature_effects(model, few, 0, 1), expected)
    assert not data.x.requires_grad
    assert not few.x.value.requires_grad


def test_entries_that_are_all_one_need_not_be_stored():
    x = (star().x > 0).float()
    model = build_model("akgnn", default_settings("akgnn").model, 2, 2).eval()
    bare = CSR(sparse(x).pattern)
    expected = feature_effects(model, star(x), 0, 1)
    torch.testing.assert_close(feature_effects(model, star(bare), 0, 1), expected)


@pytest.mark.parametrize("options", [{}, {"readout": "max"}, {"node_dropout": 0.5}])
def test_sparse_features_that_are_propagated_first(options):
    model = AKGNN(2, 4, 2, order="propagate-first", **options).eval()
    data = star()
    expected = feature_effects(model, data, 0, 1)
    torch.testing.assert_close(feature_effects(model, star(sparse(data.x)), 0, 1), expected)


def test_effects_add_up_by_distance():
    effects = torch.tensor([1.0, 2, 4, 8, 16, 0])
    assert by_distance(effects, torch.tensor([0, 1, 1, 2, -1, 3])) == [1, 6, 8]
    assert by_distance(torch.zeros(3), torch.tensor([0, 1, 2])) == [0]
