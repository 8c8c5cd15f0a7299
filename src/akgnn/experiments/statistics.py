"""What the numbers carry: comparisons of models on paired seeds, and of a mean with a paper's."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import stats
from scipy.special import stdtrit


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
    """One model against another on the same seeds.

    Attributes:
        pairs: How many seeds have a score of both.
        difference: Mean of the first minus mean of the second over those seeds.
        ci95: The 95 % interval of the difference by Student's t.
        t_test: p of the paired t-test.
        wilcoxon: p of Wilcoxon's signed-rank test.
        t_test_holm: p of the t-test after Holm's correction for the family of comparisons.
        wilcoxon_holm: The same for Wilcoxon's test.
    """

    pairs: int
    difference: float
    ci95: tuple[float, float]
    t_test: float
    wilcoxon: float
    t_test_holm: float = math.nan
    wilcoxon_holm: float = math.nan

    @property
    def verdict(self) -> Literal["higher", "lower", "no difference shown", "too few seeds"]:
        """Whether the first is higher or lower, where both corrected tests say so at 5 %."""
        if self.pairs < 2:
            return "too few seeds"
        if not (self.t_test_holm < 0.05 and self.wilcoxon_holm < 0.05):
            return "no difference shown"
        return "higher" if self.difference > 0 else "lower"


def compare(first: Mapping[int, float], second: Mapping[int, float]) -> Comparison:
    """Compare two models by their scores, given by seed; only seeds with both count."""
    seeds = sorted(
        seed for seed in set(first) & set(second) if math.isfinite(first[seed] - second[seed])
    )
    differences = np.array([first[seed] - second[seed] for seed in seeds])
    if len(seeds) < 2:
        mean = float(differences.mean()) if seeds else math.nan
        return Comparison(len(seeds), mean, (math.nan, math.nan), math.nan, math.nan)
    summary = summarise(differences.tolist())
    if not differences.any():
        return Comparison(len(seeds), 0.0, (0.0, 0.0), 1.0, 1.0)
    # Equal differences leave no deviation to measure the mean by: p is then 0.
    t_test = float(stats.ttest_1samp(differences, 0).pvalue) if np.ptp(differences) else 0.0
    # Accuracies of 1000 nodes repeat, so that sizes tie; rounding must not break the ties.
    wilcoxon = float(stats.wilcoxon(np.round(differences, 9)).pvalue)
    return Comparison(len(seeds), summary.mean, summary.ci95, t_test, wilcoxon)


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
    wilcoxons = holm([comparison.wilcoxon for comparison in family])
    return [
        replace(comparison, t_test_holm=t, wilcoxon_holm=w)
        for comparison, t, w in zip(family, t_tests, wilcoxons, strict=True)
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
