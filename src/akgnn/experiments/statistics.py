"""What the numbers carry: comparisons of models, paired or not, and of a mean with a paper's."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import stdtrit

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation, and the 95 % interval of the mean by Student's t."""

    mean: float
    std: float
    ci95: tuple[float, float]


def summarise(values: Sequence[float]) -> Summary:
    """Sum up several runs; one run alone, or any without a result, leaves the deviation NaN."""
    mean = statistics.fmean(values)
    if len(values) < 2 or not math.isfinite(mean):
        return Summary(mean, math.nan, (math.nan, math.nan))
    std = statistics.stdev(values)
    half = float(stdtrit(len(values) - 1, 0.975)) * std / math.sqrt(len(values))
    return Summary(mean, std, (mean - half, mean + half))


@dataclass(frozen=True)
class Comparison:
    """One model against another, by a t-test and a test of ranks.

    Attributes:
        paired: Whether runs of one seed were compared with each other, or all with all.
        runs: How many runs of the first and of the second count; of pairs, the same number twice.
        difference: Mean of the first minus mean of the second over those runs.
        ci95: The 95 % interval of the difference by Student's t, of unpaired runs as Welch has it.
        t_test: p of the paired t-test, of unpaired runs of Welch's.
        rank_test: p of Wilcoxon's signed-rank test, of unpaired runs of Mann and Whitney's U test.
        t_test_holm: p of the t-test after Holm's correction for the family of comparisons.
        rank_test_holm: The same for the test of ranks.
    """

    paired: bool
    runs: tuple[int, int]
    difference: float
    ci95: tuple[float, float]
    t_test: float
    rank_test: float
    t_test_holm: float = math.nan
    rank_test_holm: float = math.nan

    @property
    def is_tested(self) -> bool:
        """Whether there were runs enough for a test."""
        return min(self.runs) >= 2

    @property
    def design(self) -> str:
        """Which tests these are and of how many runs: `paired, 20` or `unpaired, 100 and 20`."""
        first, second = self.runs
        return f"paired, {first}" if self.paired else f"unpaired, {first} and {second}"

    @property
    def verdict(self) -> Literal["higher", "lower", "no difference shown", "too few runs"]:
        """Whether the first is higher or lower, where both corrected tests say so at 5 %."""
        if not self.is_tested:
            return "too few runs"
        if not (self.t_test_holm < 0.05 and self.rank_test_holm < 0.05):
            return "no difference shown"
        return "higher" if self.difference > 0 else "lower"


def compare_paired(first: Mapping[int, float], second: Mapping[int, float]) -> Comparison:
    """Compare two models by their scores, given by seed; only seeds with both count.

    The tests are the paired t-test and Wilcoxon's signed-rank test.
    """
    seeds = sorted(
        seed for seed in set(first) & set(second) if math.isfinite(first[seed] - second[seed])
    )
    differences = np.array([first[seed] - second[seed] for seed in seeds])
    runs = len(seeds), len(seeds)
    if len(seeds) < 2:
        return _untested(True, runs, float(differences.mean()) if seeds else math.nan)
    summary = summarise(differences.tolist())
    if not differences.any():
        return Comparison(True, runs, 0.0, (0.0, 0.0), 1.0, 1.0)
    # Equal differences leave no deviation to measure the mean by: p is then 0.
    t_test = float(stats.ttest_1samp(differences, 0).pvalue) if np.ptp(differences) else 0.0
    # Accuracies of 1000 nodes repeat, so that sizes tie; rounding must not break the ties.
    wilcoxon = float(stats.wilcoxon(np.round(differences, 9)).pvalue)
    return Comparison(True, runs, summary.mean, summary.ci95, t_test, wilcoxon)


def compare_unpaired(first: Iterable[float], second: Iterable[float]) -> Comparison:
    """Compare two models by all their finite scores, whatever their seeds and however many.

    The tests are Welch's t-test and the U test of Mann and Whitney.
    """
    a, b = (np.array([x for x in scores if math.isfinite(x)]) for scores in (first, second))
    runs = len(a), len(b)
    difference = float(a.mean() - b.mean()) if min(runs) else math.nan
    if min(runs) < 2:
        return _untested(False, runs, difference)
    if not np.ptp([*a, *b]):
        return Comparison(False, runs, 0.0, (0.0, 0.0), 1.0, 1.0)
    t_test, half = _welch(a, b)
    interval = difference - half, difference + half
    # As with pairs, equal accuracies must tie.
    mann_whitney = float(stats.mannwhitneyu(np.round(a, 9), np.round(b, 9)).pvalue)
    return Comparison(False, runs, difference, interval, t_test, mann_whitney)


def _untested(paired: bool, runs: tuple[int, int], difference: float) -> Comparison:
    return Comparison(paired, runs, difference, (math.nan, math.nan), math.nan, math.nan)


def _welch(a: Scores, b: Scores) -> tuple[float, float]:
    """Welch's t-test: its p, and half the width of the 95 % interval of the difference of means.

    The squared standard error is s_a + s_b with s_i = var_i / n_i, and the degrees of freedom are
    (s_a + s_b)² / (s_a² / (n_a - 1) + s_b² / (n_b - 1)), after Welch and Satterthwaite.
    """
    if not (np.ptp(a) or np.ptp(b)):
        # Two different scores without deviation: as with equal differences of pairs.
        return 0.0, 0.0
    # From means and deviations: `ttest_ind` warns where one side has no deviation.
    sides = (a.mean(), a.std(ddof=1), len(a), b.mean(), b.std(ddof=1), len(b))
    p = stats.ttest_ind_from_stats(*sides, equal_var=False).pvalue
    s_a, s_b = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    freedom = (s_a + s_b) ** 2 / (s_a**2 / (len(a) - 1) + s_b**2 / (len(b) - 1))
    return float(p), float(stdtrit(freedom, 0.975)) * math.sqrt(s_a + s_b)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: p values of a family, each raised so that all hold together.

    The smallest of m is multiplied by m, the next by m - 1, and so on, and none may fall below
    the one before. NaN, a test that could not be made, is left out of the family.
    """
    order = sorted(
        (k for k, p in enumerate(p_values) if not math.isnan(p)), key=p_values.__getitem__
    )
    corrected = [math.nan] * len(p_values)
    least = 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(order) - rank) * p_values[place]))
        corrected[place] = least
    return corrected


def corrected(family: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons of one family with Holm's correction."""
    t_tests = holm([comparison.t_test for comparison in family])
    rank_tests = holm([comparison.rank_test for comparison in family])
    return [
        replace(comparison, t_test_holm=t, rank_test_holm=rank)
        for comparison, t, rank in zip(family, t_tests, rank_tests, strict=True)
    ]


Agreement = Literal["inside", "within the spread", "above", "below", "unknown"]


def agreement(measured: Summary, published: float) -> Agreement:
    """Where a published mean lies in what was measured.

    `inside` the 95 % interval of the measured mean; else `within the spread` of single runs, two
    deviations around the mean; else the published value lies `above` or `below` all that.
    """
    low, high = measured.ci95
    if math.isnan(low):
        return "unknown"
    if low <= published <= high:
        return "inside"
    if abs(published - measured.mean) <= 2 * measured.std:
        return "within the spread"
    return "above" if published > measured.mean else "below"
