import math

import pytest
from scipy import stats

from akgnn.experiments.statistics import summarise


def test_interval_is_students():
    values = [84.1, 84.9, 85.2, 83.8, 84.4]
    summary = summarise(values)
    interval = stats.t.interval(0.95, 4, loc=summary.mean, scale=stats.sem(values))
    assert summary.mean == pytest.approx(84.48)
    assert summary.std == pytest.approx(stats.tstd(values))
    assert summary.ci95 == pytest.approx(interval)


def test_a_run_without_a_result_leaves_none():
    assert math.isnan(summarise([84.0, math.nan]).mean)
    assert math.isnan(summarise([math.nan, math.nan]).std)


def test_one_run_has_no_deviation():
    summary = summarise([84.0])
    assert summary.mean == 84.0
    assert math.isnan(summary.std)
    assert math.isnan(summary.ci95[0])
