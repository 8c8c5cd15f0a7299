import pytest
import torch

from akgnn.explain.neighbours import log_odds
from akgnn.explain.reach import by_distance, feature_effects
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


def test_sparse_features_give_the_same():
    data = star()
    few = star(sparse(data.x))
    assert torch.equal(
        feature_effects(Smoothing(), data, 0, 1), feature_effects(Smoothing(), few, 0, 1)
    )
    assert not data.x.requires_grad


def test_effects_add_up_by_distance():
    effects = torch.tensor([1.0, 2, 4, 8, 16, 0])
    assert by_distance(effects, torch.tensor([0, 1, 1, 2, -1, 3])) == [1, 6, 8]
    assert by_distance(torch.zeros(3), torch.tensor([0, 1, 2])) == [0]
