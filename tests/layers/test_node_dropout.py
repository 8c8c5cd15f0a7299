import pytest
import torch

from akgnn.csr import CSR
from akgnn.errors import SettingsError
from akgnn.layers.node_dropout import NodeDropout
from akgnn.ops.dropout import Noise

X = torch.rand(40, 8) + 1


def test_a_row_is_kept_as_it_is_or_dropped_whole():
    out = NodeDropout(0.5, 0)(X, Noise(1, 2))
    kept = out.ne(0).all(1)
    assert 0 < int(kept.sum()) < 40
    assert torch.equal(out[kept], X[kept])
    assert torch.equal(out[~kept], torch.zeros_like(X[~kept]))


def test_drops_by_seed_step_and_place():
    out = NodeDropout(0.5, 3)(X, Noise(1, 2))
    assert torch.equal(out, NodeDropout(0.5, 3)(X, Noise(1, 2)))
    for place, noise in ((4, Noise(1, 2)), (3, Noise(1, 3)), (3, Noise(2, 2))):
        assert not torch.equal(out, NodeDropout(0.5, place)(X, noise))


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
def test_sparse_features_stay_sparse_and_drop_alike(value, noise):
    x = CSR.from_arrays(torch.tensor([0, 2, 3]), torch.tensor([0, 3, 1]), value, (2, 4))
    drop = NodeDropout(0.5, 0).eval()
    out = drop(x, noise)
    assert torch.equal(out.to_dense(), drop(x.to_dense(), noise))
    assert out.pattern is x.pattern


def test_training_without_noise_is_refused_not_ignored():
    with pytest.raises(SettingsError, match=r"pass noise=Noise\(seed, step\)"):
        NodeDropout(0.5, 0)(X, None)


def test_rate_zero_needs_no_noise():
    assert NodeDropout(0.0, 0)(X, None) is X


def test_a_wrong_rate_is_refused():
    with pytest.raises(SettingsError):
        NodeDropout(1.0, 0)
