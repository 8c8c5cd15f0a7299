import math

import pytest
import torch

from akgnn.csr import CSR
from akgnn.errors import SettingsError
from akgnn.layers.linear import Linear


def test_sparse_and_dense_features_give_the_same():
    sparse = CSR.from_arrays(
        torch.tensor([0, 2, 2, 3]), torch.tensor([0, 3, 1]), torch.tensor([1.0, 2, 3]), (3, 4)
    )
    linear = Linear(4, 5)
    torch.testing.assert_close(linear(sparse), linear(sparse.to_dense()))


def test_glorot_normal_has_its_deviation_and_no_bias():
    linear = Linear(400, 600)
    deviation = float(linear.weight.detach().std())
    assert deviation == pytest.approx(math.sqrt(2 / 1000), rel=0.02)
    assert not linear.bias.detach().any()


def test_uniform_fills_its_range():
    linear = Linear(400, 600, initialisation="uniform")
    for parameter in linear.parameters():
        assert float(parameter.detach().abs().max()) <= 0.05
        assert float(parameter.detach().std()) == pytest.approx(0.05 / math.sqrt(3), rel=0.1)


def test_the_generator_decides_the_weights():
    def weights(seed):
        return Linear(5, 6, generator=torch.Generator().manual_seed(seed)).weight

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_bias_can_be_left_out():
    assert Linear(2, 3, bias=False).bias is None


def test_an_unknown_initialisation_is_refused():
    with pytest.raises(SettingsError, match="initialisation must be one of"):
        Linear(2, 3, initialisation="zeros")


def test_low_precision_signals_meet_weights_of_float32():
    linear = Linear(4, 3)
    x = torch.randn(5, 4)
    out = linear(x.bfloat16())
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.float(), linear(x), rtol=2e-2, atol=2e-2)
    out.float().sum().backward()
    assert linear.weight.grad.dtype == linear.bias.grad.dtype == torch.float32


@pytest.mark.parametrize("shape", [(7, 3), (2, 7, 3)])
def test_dense_features_are_multiplied_and_shifted(shape):
    linear, x = Linear(3, 4, initialisation="uniform").double(), torch.randn(*shape).double()
    torch.testing.assert_close(linear(x), x @ linear.weight + linear.bias)

    def scores(weight, bias):
        return torch.func.functional_call(linear, {"weight": weight, "bias": bias}, x)

    assert torch.autograd.gradcheck(scores, (linear.weight, linear.bias))
