"""Sums over slices, forward and backward."""

import torch
from torch import Tensor

from akgnn.ops.rows import sliced
from akgnn.ops.slices import channel_sum, for_all_channels


class Twice:
    """Another process has the same as this one."""

    def __init__(self) -> None:
        self.messages = 0

    def own(self, channels: int, unit: int) -> slice:
        return slice(0, channels // 2)

    def total(self, share: Tensor) -> Tensor:
        self.messages += 1
        return share * 2


def test_a_sum_over_channels_passes_its_gradient_on_as_it_is():
    share = torch.tensor([1.0, 2.0], requires_grad=True)
    with sliced(Twice()):
        total = channel_sum(share)
    total.square().sum().backward()
    assert total.tolist() == [2, 4]
    assert share.grad.tolist() == [4, 8]


def test_weights_of_all_layers_have_their_gradients_summed_in_one_message():
    first, second = torch.tensor(3.0, requires_grad=True), torch.ones(2, requires_grad=True)
    fixed, slices = torch.tensor(5.0), Twice()
    with sliced(slices):
        weights = for_all_channels([first, 1.0, second, fixed])
    assert weights[1] == 1.0
    (weights[0] * weights[2].sum() * weights[3]).backward()
    assert (float(first.grad), second.grad.tolist()) == (2 * 10, [2 * 15] * 2)
    assert slices.messages == 1


def test_nothing_is_sent_where_nothing_learns_or_all_channels_are_here():
    weights, slices = [torch.tensor(1.0), 2.0], Twice()
    with sliced(slices):
        assert for_all_channels(weights) is weights
    with sliced(None):
        assert channel_sum(weights[0]) is weights[0]
        assert for_all_channels([torch.ones(1, requires_grad=True)])[0].is_leaf
