import math

import numpy as np
import pytest
from scipy import stats

from akgnn.experiments.statistics import (
    Summary,
    agreement,
    compare_paired,
    compare_unpaired,
    corrected,
    holm,
    summarise,
)


def test_holm_on_a_family_worked_out_by_hand():
    # Sorted: 0.005 × 4, 0.01 × 3, 0.03 × 2, 0.04 × 1 raised to the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_stops_at_one_and_leaves_missing_tests_out():
    result = holm([0.9, math.nan, 0.6])
    assert result[0] == result[2] == 1.0
    assert math.isnan(result[1])
    assert holm([]) == []


def test_paired_comparison_agrees_with_scipy_over_common_seeds():
    draw = np.random.default_rng(0)
    first = {seed: float(value) for seed, value in enumerate(draw.normal(84, 1, 12))}
    second = {seed: float(value) for seed, value in enumerate(draw.normal(83, 1, 10))}
    result = compare_paired(first, second)
    a, b = np.array([first[k] for k in range(10)]), np.array(list(second.values()))
    assert (result.paired, result.runs, result.design) == (True, (10, 10), "paired, 10")
    assert result.difference == pytest.approx((a - b).mean())
    assert result.t_test == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert result.rank_test == pytest.approx(stats.wilcoxon(a, b).pvalue)
    interval = stats.ttest_rel(a, b).confidence_interval()
    assert result.ci95 == pytest.approx((interval.low, interval.high))


def test_unpaired_comparison_agrees_with_scipy_over_all_runs():
    draw = np.random.default_rng(0)
    a, b = draw.normal(84, 1, 12), draw.normal(83, 3, 10)
    result = compare_unpaired(a, b)
    assert (result.paired, result.runs, result.design) == (False, (12, 10), "unpaired, 12 and 10")
    assert result.difference == pytest.approx(a.mean() - b.mean())
    welch = stats.ttest_ind(a, b, equal_var=False)
    assert result.t_test == pytest.approx(welch.pvalue)
    interval = welch.confidence_interval()
    assert result.ci95 == pytest.approx((interval.low, interval.high))
    assert result.rank_test == pytest.approx(stats.mannwhitneyu(a, b).pvalue)


def test_welch_and_mann_whitney_worked_out_by_hand():
    # Variances 1 and 4 of three runs each: s = 1/3 + 4/3, t = 6 / sqrt(5/3), and Welch's freedom is
    # (5/3)² / ((1/9 + 16/9) / 2) = 50/17. All of the first are above all of the second, which of
    # the 20 ways to order six runs happens in one, and in one the other way round.
    result = compare_unpaired([9.0, 10.0, 11.0], [2.0, 4.0, 6.0])
    assert result.difference == pytest.approx(6)
    error, student = math.sqrt(5 / 3), stats.t(50 / 17)
    assert result.t_test == pytest.approx(2 * student.sf(6 / error))
    half = student.ppf(0.975) * error
    assert result.ci95 == pytest.approx((6 - half, 6 + half))
    assert result.rank_test == pytest.approx(2 / 20)


def test_unpaired_runs_have_no_order():
    first, second = [80.0, 81.0, 83.0, 84.0], [79.0, 80.5, 82.0]
    assert compare_unpaired(first, second) == compare_unpaired(first[::-1], second[::-1])


def test_scores_that_rounding_tells_apart_tie():
    # 0.1 + 0.2 is not 0.3: without ties p would be another.
    result = compare_unpaired([0.1 + 0.2, 0.5, 0.6], [0.3, 0.1, 0.2])
    ranks = stats.mannwhitneyu([3, 5, 6], [3, 1, 2])
    assert result.rank_test == pytest.approx(ranks.pvalue)


def by_seed(scores):
    return dict(enumerate(scores))


def compare_both(first, second):
    """The same runs as pairs, and unpaired."""
    return [compare_paired(by_seed(first), by_seed(second)), compare_unpaired(first, second)]


def test_equal_runs_show_no_difference():
    for result in compare_both([81.0, 81.0], [81.0, 81.0]):
        assert (result.difference, result.t_test, result.rank_test) == (0, 1, 1)
        assert result.ci95 == (0, 0)
        assert corrected([result])[0].verdict == "no difference shown"
    paired, _ = compare_both([81.0, 82.0], [81.0, 82.0])
    assert (paired.difference, paired.t_test, paired.rank_test) == (0, 1, 1)


def test_runs_without_deviation_differ_for_sure_by_the_t_test():
    for result in compare_both([81.0] * 10, [80.0] * 10):
        assert (result.difference, result.t_test, result.ci95) == (1, 0, (1, 1))
        assert corrected([result])[0].verdict == "higher"


def test_one_side_without_deviation_is_compared_as_any_other():
    spread = [80.0, 81.0, 82.0, 83.0]
    result = compare_unpaired(spread, [79.0] * 5)
    # Welch's test is then that of one sample against a number.
    alone = stats.ttest_1samp(spread, 79.0)
    assert result.t_test == pytest.approx(alone.pvalue)
    assert result.ci95 == pytest.approx(np.array(alone.confidence_interval()) - 79)


def test_one_run_proves_nothing():
    for result in [*compare_both([90.0], [50.0]), compare_unpaired([90.0], [50.0, 51.0])]:
        assert corrected([result])[0].verdict == "too few runs"
        assert result.difference in (40.0, 39.5)
        assert math.isnan(result.t_test)
    assert compare_paired({0: 90.0}, {1: 50.0}).runs == (0, 0)
    nothing = compare_unpaired([], [50.0, 51.0])
    assert nothing.runs == (0, 2)
    assert math.isnan(nothing.difference)


def test_a_verdict_needs_both_corrected_tests():
    far = {seed: 80.0 + 0.1 * seed for seed in range(10)}
    near = {seed: 70.0 + 0.13 * seed for seed in range(10)}
    alone, reverse = (corrected([compare_paired(*both)])[0] for both in ((far, near), (near, far)))
    assert (alone.verdict, reverse.verdict) == ("higher", "lower")
    # Wilcoxon's smallest p for 10 pairs is 1/512; in a family of 30 that proves nothing.
    crowded = corrected([compare_paired(far, near)] * 30)[0]
    assert crowded.t_test_holm < 0.05
    assert crowded.verdict == "no difference shown"
    # Nor does that of Mann and Whitney for three runs each, which is 1/10.
    few = corrected([compare_unpaired([80.0, 80.1, 80.2], [70.0, 70.1, 70.2])])[0]
    assert few.t_test_holm < 0.05
    assert few.verdict == "no difference shown"


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


def test_runs_without_a_score_do_not_count():
    first, second = [80.0, 81.0, math.nan, 83.0], [79.0, 79.0, 70.0, math.nan]
    paired, unpaired = compare_both(first, second)
    assert paired.runs == (2, 2)
    assert paired.difference == pytest.approx(1.5)
    assert unpaired == compare_unpaired([80.0, 81.0, 83.0], [79.0, 79.0, 70.0])
    assert unpaired.runs == (3, 3)
