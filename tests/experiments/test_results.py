import math
from dataclasses import replace

import pytest

from akgnn.errors import UnknownNameError
from akgnn.experiments.record import failed_record
from akgnn.experiments.results import (
    CellResult,
    against_row,
    by_metric,
    collect,
    is_paired,
    markdown_agreement,
    markdown_comparison,
    markdown_table,
)
from akgnn.experiments.spec_files import read_spec
from akgnn.experiments.statistics import compare_unpaired
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


def test_differences_are_the_named_row_minus_the_others_over_all_runs(results):
    compared = against_row(results, "AKGNN")
    assert {key: (c.difference, c.runs) for key, c in compared.items()} == {
        # 83 minus 242 / 3, and minus 348.5 / 4: seed 3 counts without a partner.
        ("GCN", FIRST): (pytest.approx(7 / 3), (3, 3)),
        (HOSTILE, FIRST): (pytest.approx(-4.125), (3, 4)),
        ("GCN", SECOND): (pytest.approx(-1.5), (2, 2)),
        (HOSTILE, SECOND): (pytest.approx(9.5), (2, 2)),
    }


def test_the_data_sets_are_families_of_their_own(results):
    compared = against_row(results, "AKGNN")
    for dataset in (FIRST, SECOND):
        first = MEASURED["AKGNN"][dataset]
        alone = {
            name: compare_unpaired(first, MEASURED[name][dataset]).t_test
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


ROWS = """
[[rows]]
label = "AKGNN"
model = "akgnn"
[[rows]]
label = "GCN"
model = "gcn"
[[rows]]
label = "λ fixed at 2"
model = "akgnn"
set = { learn_lambda = false }
[[rows]]
label = "signed"
model = "akgnn"
set = { kernel = "signed" }
[[rows]]
label = "without readout"
model = "akgnn"
set = { readout = "last" }
[[rows]]
label = "slow"
model = "akgnn"
set = { learning_rate = 0.001 }
[[rows]]
label = "the better"
chooses = ["GCN", "without readout"]
"""


def spec_of(folder, text):
    file = folder / "own.toml"
    file.write_text(f'title = "Own"\n{text}{ROWS}', encoding="utf-8")
    return read_spec(file)


FIXED = [
    'datasets = ["cora"]',
    'datasets = ["minesweeper"]\nsplit = "public-3"',
    'datasets = ["csbm:num_nodes=60,seed=1"]',
    # One draw for all seeds.
    'datasets = ["cora"]\nsplit = "20-per-class"\ndraws = 1',
]
DRAWN = [
    'datasets = ["cora"]\nsplit = "20-per-class"',
    'datasets = ["photo"]\nsplit = "60/20/20"\ndraws = 10',
    'datasets = ["minesweeper"]\nsplit = "public-#"\ndraws = 10',
    'datasets = ["csbm:num_nodes=60,seed=#"]\ndraws = 5',
    'datasets = ["cora"]\ndraws = 5\n[vary]\nadded_edges = [0.5]',
]


@pytest.mark.parametrize("text", FIXED)
def test_a_seed_pairs_nothing_on_one_split_but_runs_of_different_kernels(tmp_path, text):
    first, *others = spec_of(tmp_path, text).cells
    paired = {cell.row.label: is_paired(first, cell) for cell in others}
    assert paired == {
        "GCN": False,
        "λ fixed at 2": True,
        "signed": True,
        "without readout": False,
        "slow": False,
        "the better": False,
    }


@pytest.mark.parametrize("text", DRAWN)
def test_a_seed_that_draws_split_or_graph_pairs_all(tmp_path, text):
    first, *others = spec_of(tmp_path, text).cells
    assert all(is_paired(first, cell) and is_paired(cell, first) for cell in others)


def test_cells_that_meet_other_draws_are_not_paired(tmp_path):
    by_split = spec_of(tmp_path, DRAWN[0]).cells
    by_name = spec_of(tmp_path, DRAWN[2]).cells
    fixed = spec_of(tmp_path, FIXED[0]).cells
    assert not is_paired(by_split[0], by_name[0])
    assert not is_paired(by_split[0], fixed[1])
    assert not is_paired(fixed[1], by_split[0])


def test_a_choice_is_paired_with_what_it_chooses_among(tmp_path):
    cells = {cell.row.label: cell for cell in spec_of(tmp_path, FIXED[0]).cells}
    better = cells["the better"]
    assert is_paired(better, cells["GCN"])
    assert is_paired(cells["without readout"], better)
    assert not is_paired(better, cells["slow"])


def test_different_models_on_one_split_are_compared_without_their_seeds(tmp_path):
    """Were runs of one seed paired, these two would differ for sure: by 0.1 in every pair."""
    scores = {"AKGNN": [80.1, 81.1, 82.1, 83.1], "GCN": [80.0, 81.0, 82.0, 83.0]}

    def compared(text):
        spec = spec_of(tmp_path, text)
        records = [
            record_of(cell, seed, score)
            for cell in spec.cells
            for seed, score in enumerate(scores.get(cell.row.label, ()))
        ]
        results = [r for r in collect(spec, records) if r.cell.row.label in scores]
        return against_row(results, "AKGNN")["GCN", "cora"], markdown_comparison(results)

    unpaired, table = compared('datasets = ["cora"]')
    assert unpaired.design == "unpaired, 4 and 4"
    assert unpaired.t_test > 0.9
    assert "| GCN | unpaired, 4 and 4 | +0.1 [-2.1, +2.3] no difference shown |" in table
    paired, table = compared('datasets = ["cora"]\nsplit = "20-per-class"')
    assert paired.design == "paired, 4"
    assert paired.t_test < 0.001
    assert "| GCN | paired, 4 | +0.1 [+0.1, +0.1] no difference shown |" in table


def test_a_table_says_the_numbers_of_runs_where_they_differ(tmp_path):
    spec = table_spec(tmp_path)
    runs = {("GCN", FIRST): 2, ("GCN", SECOND): 2, (HOSTILE, SECOND): 0}
    records = [
        record_of(cell, seed, 80.0)
        for cell in spec.cells
        for seed in range(runs.get((cell.row.label, cell.dataset), 3))
    ]
    results = collect(spec, records)
    head, _, akgnn, gcn, hostile = markdown_table(spec, results).splitlines()
    assert head == f"| method | runs | {FIRST} | {SECOND} |"
    assert akgnn == "| AKGNN | 3 | 80.0 ± 0.0 (80.0) | 80.0 ± 0.0 |"
    assert gcn.startswith("| GCN | 2 | 80.0")
    assert hostile == f"| {HOSTILE} | 3 / – | 80.0 ± 0.0 | – |"
    lines = markdown_comparison(results).splitlines()
    assert lines[0] == f"| AKGNN minus | runs | {FIRST} | {SECOND} |"
    assert lines[2].startswith("| GCN | unpaired, 3 and 2 | +0.0 [+0.0, +0.0] no difference")
    # What was not compared does not count.
    assert lines[3].startswith(f"| {HOSTILE} | unpaired, 3 and 3 | +0.0")
    assert lines[3].endswith("| – |")


def test_a_table_of_equal_numbers_of_runs_says_nothing_of_them(spec, records):
    assert markdown_table(spec, collect(spec, records)).startswith(
        f"| method | {FIRST} | {SECOND} |"
    )
    # A row that was not run yet is no other number.
    missing = [record for record in records if record.plan.run.model != "gcn"]
    assert markdown_table(spec, collect(spec, missing)).startswith(
        f"| method | {FIRST} | {SECOND} |"
    )


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
    assert lines[:2] == ["| method | K | Cora | PubMed |", "| --- | --- | --- | --- |"]
    summary = results[0].summary
    assert lines[2].startswith(f"| AKGNN | 2 | {summary.mean:.1f} ± {summary.std:.1f} (84.4) | ")
    assert len(lines) == 4
    empty = markdown_table(spec, collect(spec, []))
    assert empty.splitlines()[2] == "| AKGNN | 2 | – | – |"
    comparison = markdown_comparison(results).splitlines()
    assert comparison[0] == "| AKGNN minus | runs | Cora | PubMed |"
    assert comparison[2].startswith("| GCN | unpaired, 6 and 6 | ")
    assert "[" in comparison[2]
    assert "higher" in comparison[2]


def test_rows_are_compared_at_every_point_of_a_grid(tmp_path):
    text = 'title = "Small"\ndatasets = ["cora"]\nseeds = 3\n[vary]\nnum_layers = [2, 5]\n'
    (tmp_path / "grid.toml").write_text(
        text + '[[rows]]\nlabel = "AKGNN"\nmodel = "akgnn"\n'
        '[[rows]]\nlabel = "fixed"\nmodel = "akgnn"\nset = { learn_lambda = false }\n'
    )
    spec = read_spec(tmp_path / "grid.toml")
    above = {("AKGNN", 2): 1.0, ("AKGNN", 5): 7.0}
    records = [
        record_of(cell, seed, 80.0 + seed + above.get((cell.row.label, *cell.point.values()), 0.0))
        for cell in spec.cells
        for seed in range(3)
    ]
    head, _, *lines = markdown_comparison(collect(spec, records)).splitlines()
    assert head == "| AKGNN minus | K | runs | Cora |"
    assert [line.partition(" [")[0] for line in lines] == [
        "| fixed | 2 | paired, 3 | +1.0",
        "| fixed | 5 | paired, 3 | +7.0",
    ]


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
    assert head == "| method | Cora | PubMed, ROC-AUC |"
    assert akgnn.endswith("| 92.5 ± 1.9 |")
    assert gcn.endswith("| – |")
    assert markdown_comparison(results).splitlines()[2].endswith("| – |")


CHOOSING = """title = "Chosen"
datasets = ["cora", "minesweeper"]
seeds = 3
metric = { minesweeper = "roc_auc" }
[[rows]]
label = "the better"
chooses = ["AKGNN", "GCN"]
[[rows]]
label = "AKGNN"
model = "akgnn"
preset = "any-graph"
published = { cora = 80 }
[[rows]]
label = "GCN"
model = "gcn"
preset = "any-graph"
[[rows]]
label = "MLP"
model = "mlp"
"""
# By row, then data set: the score on the validation nodes that runs are chosen by, of each seed.
VALIDATED = {
    "AKGNN": {"cora": [0.5, 0.7, 0.6], "minesweeper": [90.0, 80.0, 70.0]},
    "GCN": {"cora": [0.6, 0.6, 0.6], "minesweeper": [80.0, 85.0, 75.0]},
    "MLP": {"cora": [0.1, 0.1, 0.1], "minesweeper": [99.0, 99.0, 99.0]},
}


@pytest.fixture
def choosing(tmp_path):
    file = tmp_path / "chosen.toml"
    file.write_text(CHOOSING, encoding="utf-8")
    return read_spec(file)


@pytest.fixture
def validated(choosing):
    """The test score is 10 times the row's place, and after the point the seed."""
    records = []
    for cell in choosing.cells:
        for plan in cell.plans():
            test = 10 * list(VALIDATED).index(cell.row.label) + plan.run.seed / 10
            val = VALIDATED[cell.row.label][cell.dataset][plan.run.seed]
            other = "val_log_loss" if cell.dataset == "cora" else "val_roc_auc"
            # Were they taken for the choice, these would decide otherwise.
            misleading = {"val_accuracy": 100 - 10 * test, "val_loss": 10 - test}
            record = record_of(cell, plan.run.seed, test)
            metrics = {**misleading, **record.metrics, "test_roc_auc": test, other: val}
            metrics["test_calibration_error"] = test / 10
            metrics["test_log_loss"] = test / 100
            records.append(replace(record, metrics=metrics))
    return records


def test_each_seed_takes_the_row_that_validation_prefers(choosing, validated):
    cora, minesweeper = collect(choosing, validated)[:2]
    # Of equal losses the first named.
    assert cora.scores == {0: 0.0, 1: 10.1, 2: 0.2}
    assert cora.chosen == {"AKGNN": 2, "GCN": 1}
    # Where all stop on another metric, that one decides, and the highest is the best.
    assert minesweeper.scores == {0: 0.0, 1: 10.1, 2: 10.2}
    assert minesweeper.chosen == {"AKGNN": 1, "GCN": 2}
    assert all(result.chosen == {} for result in collect(choosing, validated)[2:])


def test_a_choice_is_compared_and_shown_like_any_other_row(choosing, validated):
    results = collect(choosing, validated)
    compared = against_row(results, "the better")
    assert compared["GCN", "cora"].difference == pytest.approx((-10 + 0 - 10) / 3)
    assert compared["AKGNN", "cora"].design == "paired, 3"
    lines = markdown_table(choosing, results).splitlines()
    assert lines[2] == "| the better | 3.4 ± 5.8 | 6.8 ± 5.9 |"
    assert markdown_comparison(results).startswith("| the better minus | runs | Cora | ")


def test_a_choice_waits_for_every_row(choosing, validated):
    akgnn, gcn = choosing.cells[2], choosing.cells[4]
    without = [record for record in validated if record.plan != gcn.plan(1)]
    assert list(collect(choosing, without)[0].scores) == [0, 2]
    # Records from before there was a calibrated loss.
    old = [
        replace(record, metrics={"test_accuracy": 1.0}) if record.plan == akgnn.plan(0) else record
        for record in validated
    ]
    assert list(collect(choosing, old)[0].scores) == [1, 2]


def test_a_choice_passes_over_what_failed(choosing, validated):
    akgnn, gcn = choosing.cells[2], choosing.cells[4]
    some = [failure_of(r) if r.plan == akgnn.plan(0) else r for r in validated]
    assert collect(choosing, some)[0].scores == {0: 10.0, 1: 10.1, 2: 0.2}
    both = [failure_of(r) if r.plan in (akgnn.plan(0), gcn.plan(0)) else r for r in validated]
    result = collect(choosing, both)[0]
    assert list(result.scores) == [1, 2]
    assert [record.seed for record in result.failed] == [0]


def test_a_table_may_go_by_another_metric_of_the_records(choosing, validated):
    results = collect(choosing, validated)
    lines = markdown_table(choosing, by_metric(results, "calibration_error")).splitlines()
    assert lines[0] == "| method | Cora, calibration error | Minesweeper, calibration error |"
    # Published values are accuracies.
    assert lines[3] == "| AKGNN | 0.0 ± 0.0 | 0.0 ± 0.0 |"
    losses = by_metric(results, "log_loss")
    assert markdown_table(choosing, losses).splitlines()[4].startswith("| GCN | 0.101 ± 0.001 |")
    assert "[-0.210, +0.077]" in markdown_comparison(losses)
    with pytest.raises(UnknownNameError, match="Did you mean 'calibration_error'"):
        by_metric(results, "calibration_eror")


def test_the_reading_that_agrees_best_is_named(tmp_path):
    """GCN's second reading agrees; of SGC no reading does, and the nearest is told."""
    rows = [
        ("GCN", 80.0),
        ("GCN, public code", 80.0),
        ("SGC", 70.0),
        ("SGC with noise", 70.0),
        ("APPNP", 60.2),
    ]
    file = tmp_path / "own.toml"
    text = 'title = "Own"\ndatasets = ["cora"]\n'
    for number, (label, value) in enumerate(rows):
        model = label.split(",")[0].split(" ")[0].lower()
        text += (
            f'[[rows]]\nlabel = "{label}"\nmodel = "{model}"\nset = {{ epochs = {number + 1} }}\n'
        )
        text += f"published = {{ cora = {value} }}\n"
    file.write_text(text, "utf-8")
    spec = read_spec(file)
    scores = [(84, 85, 86), (79, 80, 81.5), (60, 60, 60), (66, 66, 66), (60, 60, 60)]
    records = [
        record_of(cell, seed, score)
        for cell, values in zip(spec.cells, scores, strict=True)
        for seed, score in enumerate(values)
    ]
    assert markdown_agreement(collect(spec, records)).splitlines() == [
        "| method | Cora |",
        "| --- | --- |",
        "| GCN | inside: 80.2 (public code) for 80.0 |",
        "| SGC | **not reproduced**: 66.0 (with noise) for 70.0 |",
        "| APPNP | within half a point: 60.0 (paper) for 60.2 |",
    ]
