"""Several runs in a few numbers."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

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
