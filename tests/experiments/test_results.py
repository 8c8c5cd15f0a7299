import math
from dataclasses import replace

import pytest

from akgnn.experiments.record import failed_record
from akgnn.experiments.results import collect
from report_data import record_of, table_spec

SEEDS = 3


@pytest.fixture
def spec(tmp_path):
    return table_spec(tmp_path)


@pytest.fixture
def records(spec):
    """The accuracy is the place of the cell and, after the point, the seed."""
    return [
        record_of(cell, seed, place + seed / 10)
        for place, cell in enumerate(spec.cells)
        for seed in range(SEEDS)
    ]


def failure_of(record):
    return failed_record(record.plan, "no", versions={}, environment={})


def searched(record):
    data = {**record.data, "split": "public-without-test:12345678"}
    return replace(record, data=data, metrics={"val_accuracy": 50.0 + record.seed})


def test_results_are_in_the_order_of_the_spec_and_of_the_seeds(spec, records):
    results = collect(spec, list(reversed(records)))
    assert [result.cell for result in results] == list(spec.cells)
    assert results[2].scores == {0: 2.0, 1: 2.1, 2: 2.2}
    assert list(results[2].scores) == [0, 1, 2]
    assert results[2].summary.mean == pytest.approx(2.1)


def test_a_finished_record_goes_before_a_failed_one(spec, records):
    failed = [failure_of(record) for record in records]
    for order in ([*records, *failed], [*failed, *records]):
        results = collect(spec, order)
        assert all(len(r.finished) == SEEDS and not r.failed for r in results)
    alone = collect(spec, failed)[0]
    assert alone.summary is None
    assert math.isnan(alone.val_score)
    assert len(alone.failed) == SEEDS


def test_a_record_with_history_goes_before_one_without(spec):
    cell = spec.cells[0]
    kept, plain = record_of(cell, 0, 80.0, history=True), record_of(cell, 0, 80.0)
    for order in ([kept, plain], [plain, kept]):
        assert collect(spec, order)[0].finished == (kept,)


def test_runs_without_test_nodes_answer_a_search_and_nothing_else(spec, records):
    both = [*records, *map(searched, records)]
    plain, search = collect(spec, both), collect(replace(spec, is_search=True), both)
    assert plain[1].summary.mean == pytest.approx(1.1)
    assert search[1].val_score == 51
    assert all(record.is_search for result in search for record in result.finished)


def test_records_of_other_runs_are_left_out(spec, records):
    plan = records[0].plan
    stranger = replace(records[0], plan=replace(plan, which=replace(plan.which, split_seed=9)))
    assert [r.finished for r in collect(spec, [stranger])] == [()] * len(spec.cells)
