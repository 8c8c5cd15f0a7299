import pytest
import torch

from akgnn.csr import CSR
from akgnn.errors import SettingsError
from akgnn.layers.dropout import Dropout
from akgnn.ops.dropout import Noise, dropout


def test_drops_by_seed_step_and_place():
    x = torch.ones(30, 8)
    noise = Noise(1, 2)
    assert torch.equal(Dropout(0.5, 3)(x, noise), dropout(x, 0.5, noise.key(3)))
    assert not torch.equal(Dropout(0.5, 3)(x, noise), Dropout(0.5, 4)(x, noise))


def test_sparse_features_stay_sparse_and_drop_alike():
    x = CSR.from_arrays(torch.tensor([0, 2, 3]), torch.tensor([0, 3, 1]), None, (2, 4))
    drop, noise = Dropout(0.5, 0), Noise(0)
    assert torch.equal(drop(x, noise).to_dense(), drop(x.to_dense(), noise))
    assert drop(x, noise).pattern is x.pattern


def test_evaluation_keeps_everything():
    x = torch.ones(3, 4)
    assert Dropout(0.5, 0).eval()(x, None) is x


def test_training_without_noise_is_refused_not_ignored():
    with pytest.raises(SettingsError, match=r"pass noise=Noise\(seed, step\)"):
        Dropout(0.5, 0)(torch.ones(3, 4), None)


def test_rate_zero_needs_no_noise():
    x = torch.ones(3, 4)
    assert Dropout(0.0, 0)(x, None) is x


def test_a_wrong_rate_is_refused():
    with pytest.raises(SettingsError):
        Dropout(1.0, 0)
