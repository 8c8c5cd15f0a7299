import torch

from akgnn.ops.dropout import Noise
from akgnn.ops.straight_through import evenly, straight_through_bernoulli

KEY = Noise(0).key(1)


def test_draws_are_even_and_stay_inside():
    v = evenly(200_001, KEY, torch.zeros(1))
    assert v.shape == (200_001,)
    assert 0 < float(v.min()) < float(v.max()) < 1
    assert torch.allclose(torch.histc(v, 10, 0, 1) / len(v), torch.tensor(0.1), atol=0.003)


def test_it_is_one_as_often_as_the_probability_says():
    for p in (0.0, 0.001, 0.3, 1.0):
        s = straight_through_bernoulli(torch.full((400_000,), p), 1.2, KEY)
        assert set(s.unique().tolist()) <= {0.0, 1.0}
        assert abs(float(s.mean()) - p) < 4 * (p * (1 - p) / len(s)) ** 0.5 + 1e-5


def test_the_value_is_hard_and_the_gradient_that_of_the_relaxed_sample():
    p = torch.rand(50, dtype=torch.float64, requires_grad=True)
    v = evenly(50, KEY, p)
    relaxed = torch.sigmoid((torch.logit(p) - torch.logit(v)) / 0.7)
    s = straight_through_bernoulli(p, 0.7, KEY)
    assert torch.equal(s, (relaxed > 0.5).double())
    direction = torch.randn(50, dtype=torch.float64)
    (expected,) = torch.autograd.grad(relaxed, p, direction)
    (found,) = torch.autograd.grad(s, p, direction)
    torch.testing.assert_close(found, expected)


def test_the_gradient_is_finite_at_the_ends():
    p = torch.tensor([0.0, 1e-30, 1.0], requires_grad=True)
    straight_through_bernoulli(p, 0.5, KEY).sum().backward()
    assert bool(torch.isfinite(p.grad).all())
