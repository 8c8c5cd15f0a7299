import math

import pytest
import torch
import torch.nn.functional as F

from akgnn.training.calibration import (
    UNCALIBRATED,
    Calibrated,
    Calibration,
    calibration_of,
)
from akgnn.training.metrics import calibration_error, logits_roc_auc


def drawn(size=4000, classes=4):
    """Scores, and classes drawn with just the probabilities that they say."""
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(size, classes, generator=generator)
    return logits, logits.softmax(1).multinomial(1, generator=generator).squeeze(1)


def of_sizes(logits, spread=1.0):
    """The same scores, each node's multiplied by a number that says nothing."""
    generator = torch.Generator().manual_seed(1)
    return logits * (spread * torch.randn(len(logits), 1, generator=generator)).exp()


def sizes_of(logits):
    scores = logits.double()
    return torch.tensor([float(row.std(correction=0)) for row in scores], dtype=torch.float64)


def probabilities(logits, temperature, power, size, share):
    rows = [
        (1 - share) * (row / (temperature * (own / size) ** power)).softmax(0) + share / len(row)
        for row, own in zip(logits.double(), sizes_of(logits), strict=True)
    ]
    return torch.stack(rows)


def cost(logits, y, temperature, power, size, share):
    """The loss and the prior, by the formulas."""
    loss = -probabilities(logits, temperature, power, size, share)[range(len(y)), y].log().sum()
    odds = math.log(share / (1 - share))
    prior = (math.log(temperature) ** 2 + power**2) / (2 * 0.5**2) + (odds + 3) ** 2 / (2 * 2**2)
    return float(loss) + prior


@pytest.mark.parametrize("factor", [0.2, 1.0, 5.0])
def test_scores_that_are_too_large_or_small_are_put_right(factor):
    logits, y = drawn()
    found = calibration_of(factor * logits, y)
    assert found.temperature == pytest.approx(factor, rel=0.06)
    assert found.power == pytest.approx(0, abs=0.1)
    assert found.uniform_share < 0.02
    loss = F.cross_entropy(found.scaled(factor * logits), y)
    assert float(loss) == pytest.approx(
        float(F.cross_entropy(calibration_of(logits, y).scaled(logits), y)), rel=1e-3
    )


def test_sizes_that_say_nothing_are_taken_back():
    logits, y = drawn()
    directions = F.normalize(logits - logits.mean(1, keepdim=True)) * 3
    y = directions.softmax(1).multinomial(1, generator=torch.Generator().manual_seed(0)).squeeze(1)
    noisy = of_sizes(directions)
    found = calibration_of(noisy, y)
    assert calibration_error(noisy / found.temperature, y) > 5
    assert found.power == pytest.approx(0.9)
    assert calibration_error(found.scaled(noisy), y) < 2.5


@pytest.mark.parametrize("size", [3, 50, 1000])
def test_no_other_numbers_suit_better(size):
    logits, y = drawn(size=size)
    logits = of_sizes(3 * logits, spread=0.3)
    best = calibration_of(logits, y)
    assert best.size == pytest.approx(float(sizes_of(logits).log().mean().exp()))
    numbers = [best.temperature, best.power, best.size, best.uniform_share]
    least = cost(logits, y, *numbers)
    temperature, power, typical, share = numbers
    for factor in (0.5, 0.98, 1.02, 2):
        assert cost(logits, y, factor * temperature, power, typical, share) > least
        assert cost(logits, y, temperature, power, typical, factor * share) > least
    for step in (-0.3, -0.02, 0.02, 0.3):
        assert cost(logits, y, temperature, power + step, typical, share) > least


def test_nodes_of_any_class_make_it_less_sure_and_the_less_the_more_nodes_tell():
    logits, y = drawn(size=2000)
    few, many = (calibration_of(logits[:n], y[:n], doubtful=2.0) for n in (40, 2000))
    surest = [
        calibration_of(logits[:n], y[:n]).scaled(logits).softmax(1).max(1).values.mean()
        for n in (40, 2000)
    ]
    lost = [
        float(before - found.scaled(logits).softmax(1).max(1).values.mean())
        for before, found in zip(surest, (few, many), strict=True)
    ]
    assert lost[0] > 0.005
    assert 0 < lost[1] < 0.002
    # In the end any class is as likely as another.
    nothing = calibration_of(logits, y, doubtful=1e6).scaled(logits).softmax(1)
    torch.testing.assert_close(nothing, torch.full_like(nothing, 0.25), rtol=0, atol=0.05)


def test_errors_of_sure_nodes_are_expected():
    logits, y = drawn(size=2000)
    generator = torch.Generator().manual_seed(2)
    is_wrong = torch.rand(2000, generator=generator) < 0.1
    anyone = torch.randint(4, (2000,), generator=generator)
    found = calibration_of(logits, torch.where(is_wrong, anyone, y))
    assert found.uniform_share == pytest.approx(0.1, abs=0.03)
    assert found.temperature == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("power", [-1.0, 0.0, 0.5, 0.9])
def test_probabilities_are_as_the_formula_says(power, share, dtype):
    logits = of_sizes(drawn(size=50)[0], spread=0.3).to(dtype)
    calibration = Calibration(temperature=0.7, power=power, size=1.3, uniform_share=share)
    found = calibration.scaled(logits)
    assert found.dtype == dtype
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 0.05}[dtype]
    expected = probabilities(logits, 0.7, power, 1.3, share)
    torch.testing.assert_close(found.double().softmax(1), expected, rtol=0, atol=tolerance)
    if dtype != torch.bfloat16:
        assert torch.equal(found.argmax(1), logits.argmax(1))


@pytest.mark.parametrize("power", [-1.0, 0.4, 0.9])
def test_of_two_classes_the_order_of_nodes_stays(power):
    logits, y = drawn(size=300, classes=2)
    calibration = Calibration(temperature=3.0, power=power, size=0.2, uniform_share=0.1)
    scaled = calibration.scaled(logits.double())
    assert logits_roc_auc(scaled, y) == logits_roc_auc(logits.double(), y)


def test_few_nodes_that_are_right_do_not_make_it_certain():
    logits, _ = drawn(size=8)
    few = calibration_of(logits, logits.argmax(1))
    assert 0.6 < few.temperature < 1
    assert abs(few.power) < 0.3
    many = logits.repeat(1000, 1)
    assert calibration_of(many, many.argmax(1)).temperature < 0.2


def test_corners_are_bounded():
    logits, y = drawn(size=20)
    right = F.one_hot(logits.argmax(1), 4).float().repeat(2000, 1)
    assert 0.05 <= calibration_of(0.01 * right, right.argmax(1)).temperature < 0.06
    # Sure of the wrong class everywhere: nothing can be told.
    assert calibration_of(-1e4 * logits, logits.argmax(1)).uniform_share > 0.9
    assert calibration_of(torch.zeros(20, 4), y).temperature == pytest.approx(1)


def test_nodes_that_cannot_tell_leave_scores_as_they_are():
    logits, y = drawn(size=20)
    one_class = torch.zeros(20, dtype=torch.int64)
    for few, classes in ((logits[:0], y[:0]), (logits[:1], y[:1]), (logits, one_class)):
        assert calibration_of(few, classes) == UNCALIBRATED
    assert torch.equal(UNCALIBRATED.scaled(logits), logits)


def test_scores_that_are_not_finite_do_not_count():
    logits, y = drawn(size=40)
    damaged = torch.cat([logits, logits[:3]])
    damaged[40, 0], damaged[41, 1], damaged[42, 2] = math.inf, -math.inf, math.nan
    found = calibration_of(damaged, torch.cat([y, y[:3]]))
    assert found == calibration_of(logits, y)
    assert calibration_of(damaged[40:], y[:3]) == UNCALIBRATED
    never = Calibration(temperature=2.0, power=0.5).scaled(damaged[41:42])
    assert torch.equal(never.softmax(1), (damaged[41:42] / 2).softmax(1))


def test_equal_scores_stay_equal():
    logits = torch.tensor([[7.0, 7.0, 7.0], [1.0, 2.0, 4.0]], requires_grad=True)
    found = Calibration(temperature=0.5, power=0.8).scaled(logits)
    torch.testing.assert_close(found[0].softmax(0), torch.full((3,), 1 / 3))
    # Explanations take the gradient of one node, which others must not spoil.
    found[1, 0].backward()
    assert bool(logits.grad.isfinite().all())


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 0.0},
        {"temperature": math.nan},
        {"power": 1.0},
        {"power": math.inf},
        {"uniform_share": -0.1},
        {"uniform_share": 1.1},
        {"size": 0.0},
        {"size": math.nan},
    ],
)
def test_numbers_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match="got"):
        Calibration(**wrong)


def test_a_calibrated_model_gives_scaled_scores():
    logits, _ = drawn(size=5)
    calibration = Calibration(temperature=0.5, power=0.3, size=2.0)
    model = Calibrated(torch.nn.Identity(), calibration)
    model.model.forward = lambda x, graph: x
    assert torch.equal(model(logits, None), calibration.scaled(logits))
