from dataclasses import replace

import pytest

from akgnn.experiments.results import collect
from akgnn.report.ranking import matrix_of, rankings_of
from report_data import FIRST, HOSTILE, SECOND, table_records, table_spec


@pytest.fixture
def spec(tmp_path):
    return table_spec(tmp_path)


def ranked(spec, keep=lambda record: True):
    return rankings_of(collect(spec, [r for r in table_records(spec) if keep(r)]))


def test_rows_are_ranked_by_their_means(spec):
    first, second = ranked(spec)
    assert (first.name, second.name) == (FIRST, SECOND)
    assert [(place.label, place.rank) for place in first.places] == [
        (HOSTILE, 1),
        ("AKGNN", 2),
        ("GCN", 3),
    ]
    assert [place.strength for place in first.places] == [1.0, 0.5, 0.0]
    assert [place.label for place in first.best] == [HOSTILE]
    # Six scores, a tenth apart: 2.571 deviations of 0.187 over the root of six.
    assert first.places[0].half == pytest.approx(0.196, abs=1e-3)


def test_what_is_not_shown_to_be_worse_is_among_the_best(spec):
    # Two runs each: the least p of Mann and Whitney is 1/3.
    first, _ = ranked(spec, lambda record: record.seed < 2)
    assert first.is_tested
    assert len(first.best) == 3


def test_one_run_has_a_rank_but_no_interval(spec):
    first, _ = ranked(spec, lambda record: record.seed == 0)
    assert not first.is_tested
    assert first.places[0].half is None


def test_where_less_is_better_the_least_is_first(spec):
    cells = tuple(replace(cell, metric="log_loss") for cell in spec.cells)
    spec = replace(spec, cells=cells)
    records = [
        replace(r, metrics={**r.metrics, "test_log_loss": r.test_accuracy})
        for r in table_records(spec)
    ]
    assert rankings_of(collect(spec, records))[0].places[0].label == "GCN"


def test_a_matrix_has_the_best_on_average_first_and_gaps(spec):
    def keep(record):
        return record.plan.run.model != "gcn" or record.plan.run.dataset == FIRST

    matrix = matrix_of("mine", "Three methods", ranked(spec, keep))
    assert [label for label, _ in matrix.rows] == [HOSTILE, "AKGNN", "GCN"]
    assert matrix.rows[2][1][1] is None
    assert matrix.rows[1][1][1].rank == 2


def test_nothing_finished_has_no_ranking(spec):
    assert ranked(spec, lambda record: not record.is_finished) == []
