import math
from dataclasses import replace

import pytest

from akgnn.experiments.record import failed_record
from akgnn.experiments.results import (
    CellResult,
    against_row,
    collect,
    markdown_comparison,
    markdown_table,
)
from akgnn.experiments.spec_files import read_spec
from akgnn.experiments.statistics import compare
from report_data import FIRST, HOSTILE, SECOND, record_of, table_records, table_spec

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
    data = replace(record.data, split="public-without-test:12345678")
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
    stranger = replace(records[0], plan=replace(plan, run=replace(plan.run, split_seed=9)))
    assert [r.finished for r in collect(spec, [stranger])] == [()] * len(spec.cells)


# By row, then data set: the accuracy of seeds 0, 1, 2, …
MEASURED = {
    "AKGNN": {FIRST: [82.0, 84.0, 83.0], SECOND: [70.0, 71.0]},
    "GCN": {FIRST: [81.0, 80.0, 81.0], SECOND: [70.0, 74.0]},
    HOSTILE: {FIRST: [83.0, 84.0, 82.5, 99.0], SECOND: [60.0, 62.0]},
}


@pytest.fixture
def results(tmp_path) -> list[CellResult]:
    spec = table_spec(tmp_path)
    records = [
        record_of(cell, seed, accuracy)
        for cell in spec.cells
        for seed, accuracy in enumerate(MEASURED[cell.row.label][cell.dataset])
    ]
    return collect(spec, records)


def test_differences_are_the_named_row_minus_the_others_over_common_seeds(results):
    compared = against_row(results, "AKGNN")
    assert {key: (c.difference, c.pairs) for key, c in compared.items()} == {
        # Means of 1, 4, 2 and of -1, 0, 0.5; seed 3 has no partner.
        ("GCN", FIRST): (pytest.approx(7 / 3), 3),
        (HOSTILE, FIRST): (pytest.approx(-1 / 6), 3),
        ("GCN", SECOND): (pytest.approx(-1.5), 2),
        (HOSTILE, SECOND): (pytest.approx(9.5), 2),
    }


def test_the_data_sets_are_families_of_their_own(results):
    compared = against_row(results, "AKGNN")
    for dataset in (FIRST, SECOND):
        first = dict(enumerate(MEASURED["AKGNN"][dataset]))
        alone = {
            name: compare(first, dict(enumerate(MEASURED[name][dataset]))).t_test
            for name in ("GCN", HOSTILE)
        }
        # Holm with two tests: twice the smaller, and the larger no less than that.
        smaller, larger = sorted(alone, key=lambda name: alone[name])
        twice = min(1, 2 * alone[smaller])
        assert compared[smaller, dataset].t_test_holm == pytest.approx(twice)
        assert compared[larger, dataset].t_test_holm == pytest.approx(max(twice, alone[larger]))


def test_a_data_set_without_the_named_row_is_left_out(results):
    gone = [r for r in results if (r.cell.row.label, r.cell.dataset) != ("AKGNN", SECOND)]
    assert list(against_row(gone, "AKGNN")) == [("GCN", FIRST), (HOSTILE, FIRST)]
    assert against_row(results, "nobody") == {}


def test_a_row_alone_has_nothing_to_be_compared_with(results):
    assert against_row(results[:1], "AKGNN") == {}


def test_a_table_for_a_document(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(
        'title = "Small"\ndatasets = ["cora", "pubmed"]\nseeds = 4\n[vary]\nnum_layers = [2]\n'
        '[[rows]]\nlabel = "AKGNN"\nmodel = "akgnn"\npublished = { cora = 84.4 }\n'
        '[[rows]]\nlabel = "GCN"\nmodel = "gcn"\n'
    )
    spec = read_spec(file)
    records = [r for r in table_records(spec) if r.is_finished]
    results = collect(spec, records)
    lines = markdown_table(spec, results).splitlines()
    assert lines[:2] == ["|  | K | Cora | PubMed |", "| --- | --- | --- | --- |"]
    summary = results[0].summary
    assert lines[2].startswith(f"| AKGNN | 2 | {summary.mean:.1f} ± {summary.std:.1f} (84.4) | ")
    assert len(lines) == 4
    empty = markdown_table(spec, collect(spec, []))
    assert empty.splitlines()[2] == "| AKGNN | 2 | – | – |"
    comparison = markdown_comparison(results).splitlines()
    assert comparison[0] == "| AKGNN minus | Cora | PubMed |"
    assert comparison[2].startswith("| GCN | ")
    assert "[" in comparison[2]
    assert "higher" in comparison[2]


def test_a_data_set_may_go_by_another_metric(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(
        'title = "Small"\ndatasets = ["cora", "pubmed"]\nseeds = 4\n'
        'metric = { pubmed = "roc_auc" }\n'
        '[[rows]]\nlabel = "AKGNN"\nmodel = "akgnn"\n[[rows]]\nlabel = "GCN"\nmodel = "gcn"\n'
    )
    spec = read_spec(file)
    # The records of GCN are older than the metric.
    records = [
        replace(r, metrics={**r.metrics, "test_roc_auc": 90.0 + r.seed, "val_roc_auc": 95.0})
        if r.plan.run.model == "akgnn"
        else r
        for r in table_records(spec)
    ]
    results = collect(spec, records)
    assert list(results[1].scores.values()) == [90.0 + seed for seed in range(6)]
    assert results[1].val_score == 95.0
    head, _, akgnn, gcn = markdown_table(spec, results).splitlines()
    assert head == "|  | Cora | PubMed, ROC-AUC |"
    assert akgnn.endswith("| 92.5 ± 1.9 |")
    assert gcn.endswith("| – |")
    assert markdown_comparison(results).splitlines()[2].endswith("| – |")
