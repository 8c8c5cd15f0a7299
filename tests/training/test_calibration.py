import pytest
import torch
import torch.nn.functional as F

from akgnn.training.calibration import calibrated_loss, temperature_of


def drawn(size=4000, classes=4):
    """Scores, and classes drawn with just the probabilities that they say."""
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(size, classes, generator=generator)
    return logits, logits.softmax(1).multinomial(1, generator=generator).squeeze(1)


@pytest.mark.parametrize("factor", [0.2, 1.0, 5.0])
def test_scores_that_are_too_large_or_small_are_put_right(factor):
    logits, y = drawn()
    assert temperature_of(factor * logits, y) == pytest.approx(factor, rel=0.06)
    assert calibrated_loss(factor * logits, y) == pytest.approx(calibrated_loss(logits, y))


def test_no_other_temperature_has_a_lower_loss():
    logits, y = drawn(size=50)
    best = temperature_of(logits, y)
    found = calibrated_loss(logits, y)
    for other in (0.5 * best, 0.99 * best, 1.01 * best, 2 * best):
        assert F.cross_entropy(logits.double() / other, y) > found


def test_corners_are_bounded():
    logits, y = drawn(size=20)
    right = F.one_hot(logits.argmax(1), 4).float()
    assert temperature_of(right, logits.argmax(1)) == pytest.approx(0.05)
    assert temperature_of(-logits, logits.argmax(1)) == pytest.approx(20)
    assert temperature_of(torch.zeros(20, 4), y) > 0
    assert temperature_of(logits[:0], y[:0]) == 1
