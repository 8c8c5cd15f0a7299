"""Relu and dropout in one."""

import pytest
import torch
import torch.nn.functional as F

from akgnn.errors import SettingsError
from akgnn.ops.dropout import Noise, dropout
from akgnn.ops.relu_dropout import relu_dropout
from akgnn.ops.rows import at_nodes

KEY = Noise(3, 5).key(7)


def signal(*shape, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(*shape, dtype=dtype, generator=generator).requires_grad_()


def result_and_gradient(of, h):
    h = h.detach().clone().requires_grad_()
    out = of(h)
    slope = signal(*h.shape, dtype=h.dtype).detach().flip(-1)
    out.backward(slope)
    return out.detach(), h.grad


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rate", [0.0, 0.3, 0.5, 0.999])
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3000, 130)])
def test_it_is_dropout_of_relu(shape, rate, dtype):
    h = signal(*shape, dtype=dtype)
    h.data[0] = 0
    found = result_and_gradient(lambda h: relu_dropout(h, rate, KEY), h)
    expected = result_and_gradient(lambda h: dropout(F.relu(h), rate, KEY), h)
    assert all(torch.equal(x, y) for x, y in zip(found, expected, strict=True))


def test_each_replica_drops_its_own():
    keys, h = torch.tensor([11, 12, 13]), signal(3, 6, 5)
    out = relu_dropout(h, 0.5, keys)
    alone = [relu_dropout(each, 0.5, int(key)) for each, key in zip(h, keys, strict=True)]
    assert torch.equal(out, torch.stack(alone))


def test_some_nodes_drop_what_the_whole_graph_drops():
    h, nodes = signal(9, 4), torch.tensor([1, 4, 8])
    whole = relu_dropout(h, 0.5, KEY)
    with at_nodes(nodes):
        assert torch.equal(relu_dropout(h[nodes], 0.5, KEY), whole[nodes])


def test_no_nodes_are_left_as_they_are():
    assert relu_dropout(signal(0, 4), 0.5, KEY).shape == (0, 4)


def test_gradients_are_those_of_differences():
    h = signal(6, 5)
    assert torch.autograd.gradcheck(lambda h: relu_dropout(h, 0.5, KEY), h)


def test_a_nan_stays_one_and_is_found():
    h = torch.full((4, 4), torch.nan)
    assert relu_dropout(h, 0.5, KEY).isnan().all()


def test_a_wrong_rate_shape_or_number_of_keys_is_refused():
    with pytest.raises(SettingsError, match="at least 0 and below 1"):
        relu_dropout(signal(2, 2), 1.0, KEY)
    with pytest.raises(SettingsError, match="got shape"):
        relu_dropout(signal(2), 0.5, KEY)
    with pytest.raises(SettingsError, match="2 replicas need as many keys, got 1"):
        relu_dropout(signal(2, 3, 3), 0.5, KEY)
