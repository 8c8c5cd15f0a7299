import math

import pytest
import torch
import torch.nn.functional as F

from akgnn.training.calibration import temperature_of


def drawn(size=4000, classes=4):
    """Scores, and classes drawn with just the probabilities that they say."""
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(size, classes, generator=generator)
    return logits, logits.softmax(1).multinomial(1, generator=generator).squeeze(1)


@pytest.mark.parametrize("factor", [0.2, 1.0, 5.0])
def test_scores_that_are_too_large_or_small_are_put_right(factor):
    logits, y = drawn()
    found = temperature_of(factor * logits, y)
    assert found == pytest.approx(factor, rel=0.06)
    best = F.cross_entropy(logits / temperature_of(logits, y), y)
    assert float(F.cross_entropy(factor * logits / found, y)) == pytest.approx(
        float(best), rel=1e-4
    )


@pytest.mark.parametrize("size", [3, 50, 1000])
def test_no_other_temperature_suits_better(size):
    logits, y = drawn(size=size)
    logits = 3 * logits

    def cost(temperature):
        loss = F.cross_entropy(logits.double() / temperature, y, reduction="sum")
        return float(loss) + math.log(temperature) ** 2 / (2 * 0.5**2)

    best = temperature_of(logits, y)
    for other in (0.5 * best, 0.99 * best, 1.01 * best, 2 * best):
        assert cost(other) > cost(best)


def test_few_nodes_that_are_right_do_not_make_it_certain():
    logits, _ = drawn(size=8)
    assert 0.6 < temperature_of(logits, logits.argmax(1)) < 1
    many = logits.repeat(1000, 1)
    assert temperature_of(many, many.argmax(1)) < 0.2


def test_corners_are_bounded():
    logits, y = drawn(size=20)
    right = F.one_hot(logits.argmax(1), 4).float().repeat(100_000, 1)
    assert 0.05 <= temperature_of(0.01 * right, right.argmax(1)) < 0.06
    assert 10 < temperature_of(-1e4 * logits, logits.argmax(1)) <= 20
    assert temperature_of(torch.zeros(20, 4), y) == pytest.approx(1)
    assert temperature_of(logits[:0], y[:0]) == 1
    assert temperature_of(logits, torch.zeros(20, dtype=torch.int64)) == 1
