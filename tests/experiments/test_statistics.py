import math

import numpy as np
import pytest
from scipy import stats

from akgnn.experiments.statistics import Summary, agreement, compare, corrected, holm, summarise


def test_holm_on_a_family_worked_out_by_hand():
    # Sorted: 0.005 × 4, 0.01 × 3, 0.03 × 2, 0.04 × 1 raised to the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_stops_at_one_and_leaves_missing_tests_out():
    result = holm([0.9, math.nan, 0.6])
    assert result[0] == result[2] == 1.0
    assert math.isnan(result[1])
    assert holm([]) == []


def test_comparison_pairs_seeds_and_agrees_with_scipy():
    draw = np.random.default_rng(0)
    first = {seed: float(value) for seed, value in enumerate(draw.normal(84, 1, 12))}
    second = {seed: float(value) for seed, value in enumerate(draw.normal(83, 1, 10))}
    result = compare(first, second)
    a, b = np.array([first[k] for k in range(10)]), np.array(list(second.values()))
    assert result.pairs == 10
    assert result.difference == pytest.approx((a - b).mean())
    assert result.t_test == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert result.wilcoxon == pytest.approx(stats.wilcoxon(a, b).pvalue)
    interval = stats.ttest_rel(a, b).confidence_interval()
    assert result.ci95 == pytest.approx((interval.low, interval.high))


def test_equal_runs_show_no_difference():
    result = corrected([compare({0: 81.0, 1: 82.0}, {0: 81.0, 1: 82.0})])[0]
    assert (result.difference, result.t_test, result.wilcoxon) == (0, 1, 1)
    assert result.verdict == "no difference shown"


def test_one_seed_proves_nothing():
    assert corrected([compare({0: 90.0}, {0: 50.0})])[0].verdict == "too few seeds"
    assert compare({0: 90.0}, {1: 50.0}).pairs == 0


def test_a_verdict_needs_both_corrected_tests():
    far = {seed: 80.0 + 0.1 * seed for seed in range(10)}
    near = {seed: 70.0 + 0.13 * seed for seed in range(10)}
    alone, reverse = corrected([compare(far, near)])[0], corrected([compare(near, far)])[0]
    assert (alone.verdict, reverse.verdict) == ("higher", "lower")
    # Wilcoxon's smallest p for 10 pairs is 1/512; in a family of 30 that proves nothing.
    crowded = corrected([compare(far, near)] * 30)[0]
    assert crowded.t_test_holm < 0.05
    assert crowded.verdict == "no difference shown"


@pytest.mark.parametrize(
    ("published", "verdict"),
    [
        (81.0, "inside"),
        (81.4, "inside"),
        # Nothing is added for the rounding of print.
        (81.41, "within the spread"),
        (81.8, "within the spread"),
        (83, "above"),
        (79, "below"),
    ],
)
def test_where_a_published_value_lies(published, verdict):
    assert agreement(Summary(81.0, 0.5, (80.6, 81.4)), published) == verdict


def test_one_run_says_nothing_of_a_published_value():
    assert agreement(summarise([81.0]), 81.0) == "unknown"


def test_seeds_without_a_score_do_not_count():
    first = {0: 80.0, 1: 81.0, 2: math.nan, 3: 83.0}
    second = {0: 79.0, 1: 79.0, 2: 70.0, 3: math.nan}
    comparison = compare(first, second)
    assert comparison.pairs == 2
    assert comparison.difference == pytest.approx(1.5)
