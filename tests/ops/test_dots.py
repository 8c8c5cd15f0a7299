import pytest
import torch

from akgnn.ops import dots as module
from akgnn.ops.dots import Dots


@pytest.mark.parametrize("groups", [1, 2, 8, 40])
@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("block", [50, 2**18])
def test_terms_are_added_up_by_group_and_weighted_by_node(monkeypatch, groups, shape, block):
    monkeypatch.setattr(module, "BLOCK", block)
    factors, nodes, channels = (1.0, -0.5, 2.0), 7, 40
    signals = torch.randn(3, 2, *shape, nodes, channels, dtype=torch.float64)
    scale = torch.randn(nodes, groups, dtype=torch.float64)
    terms = [(f, x, y) for f, (x, y) in zip(factors, signals, strict=True)]
    found = Dots(terms, like=scale, division=None)
    sums = sum(f * x * y for f, x, y in terms).unflatten(-1, (groups, -1)).sum(-1)
    torch.testing.assert_close(found.by_group, sums)
    torch.testing.assert_close(found.weighted(scale), (scale * sums).sum(-2))
    torch.testing.assert_close(found.total(), sums.sum(-2))


def test_low_precision_is_added_up_in_that_of_the_scaling():
    x, y = torch.randn(2, 500, 8, dtype=torch.bfloat16)
    found = Dots([(1, x, y)], like=torch.ones(500, 2), division=None).total()
    assert found.dtype == torch.float32
    expected = (x.double() * y.double()).view(500, 2, 4).sum((0, 2))
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
