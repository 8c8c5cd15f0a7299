from functools import partial

import pytest
import torch

from akgnn.layers.blocks import Blocks
from akgnn.layers.dropout import Dropout, DropoutKey
from akgnn.layers.linear import Linear


class Halving(Blocks):
    """Blocks whose propagation in block k divides by 2 ** (k + 1); no graph is needed to check."""

    def __init__(self, **options):
        super().__init__()
        self._add_blocks(3, 4, Linear, **{"num_layers": 2, "norm": "none", **options})
        self.drops = [Dropout(0.0, DropoutKey.LAYER_INPUT + k) for k in range(2)]

    has_relu = True

    def activate(self, h):
        return h.relu()

    def forward(self, x):
        self.seen = []

        def propagate(k, h):
            self.seen.append((k, h))
            return h / 2 ** (k + 1)

        return self._blocks(self._first(x), propagate, self.drops, None)


def built(**options):
    torch.manual_seed(0)
    model = Halving(**options)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.uniform_(1, 2)
    return model


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("input_transform", [True, False])
def test_every_block_is_its_formula(residual, input_transform):
    model, x = built(residual=residual, input_transform=input_transform), torch.randn(5, 3)
    h = model.input_transform(x) if input_transform else x
    outputs = model(x)
    assert len(outputs) == 2
    for k, output in enumerate(outputs):
        mixed = h @ model.transforms[k].weight / 2 ** (k + 1)
        mixed = mixed + (model.residuals[k](h) if residual else model.transforms[k].bias)
        torch.testing.assert_close(output, mixed.relu())
        h = output


def test_a_bias_does_not_go_through_the_propagation():
    model, x = built(residual=False, input_transform=False), torch.zeros(5, 3)
    outputs = model(x)
    assert [k for k, _ in model.seen] == [0, 1]
    assert not model.seen[0][1].any()
    assert torch.equal(outputs[0], model.transforms[0].bias.expand(5, 4))


def test_a_block_has_one_bias():
    with_residual, without = (
        built(residual=True, input_transform=True),
        built(residual=False, input_transform=True),
    )
    assert all(each.bias is None for each in with_residual.transforms)
    assert all(each.bias is not None for each in with_residual.residuals)
    assert all(each.bias is not None for each in without.transforms)
    assert len(without.residuals) == 0


def test_the_first_map_may_lack_its_bias_or_be_left_out():
    assert built(residual=True, input_transform=True, input_bias=False).input_transform.bias is None
    alone = built(residual=True, input_transform=False)
    x = torch.randn(5, 3)
    assert alone._first(x) is x
    assert alone.transforms[0].weight.shape == (3, 4)


def test_residuals_may_be_maps_of_another_kind():
    small = partial(Linear, initialisation="uniform")
    model = built(residual=True, input_transform=True, residual_map=small)
    assert [each.initialisation for each in model.residuals] == ["uniform"] * 2
    assert [each.initialisation for each in model.transforms] == ["glorot_normal"] * 2


def test_norms_come_before_the_non_linearity():
    model = built(residual=True, input_transform=True, norm="layer")
    with torch.no_grad():
        for norm in model.norms:
            norm.bias.fill_(-100)
    assert not any(output.any() for output in model(torch.randn(5, 3)))
