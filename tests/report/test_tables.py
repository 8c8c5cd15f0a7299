from dataclasses import replace

import pytest

from akgnn.experiments.results import against_row, collect
from akgnn.experiments.spec_files import read_spec
from akgnn.experiments.store import RecordStore
from akgnn.report.experiments_page import experiments_page
from akgnn.report.response import responses_of
from akgnn.report.table_data import details
from akgnn.report.tables import Scale, Time, table_of
from report_data import FIRST, HOSTILE, SECOND, record_of, table_records, table_spec


@pytest.fixture
def spec(tmp_path):
    return table_spec(tmp_path)


@pytest.fixture
def table(spec):
    return table_of(spec, collect(spec, table_records(spec)))


def row_of(table, graph, label):
    rows = next(g.rows for g in table.graphs if g.dataset == graph)
    return next(row for row in rows if row.label == label)


def test_means_and_verdicts_are_those_of_the_statistics(spec, table):
    compared = against_row(collect(spec, table_records(spec)), "AKGNN")
    row = row_of(table, FIRST, "GCN")
    assert row.summary.mean == pytest.approx(75.25)
    assert row.comparison == compared["GCN", FIRST]
    assert row.comparison.difference == pytest.approx(5)
    # The published 90 lies far above 75.25 ± 0.19; AKGNN's 80 within two deviations of 80.25.
    assert row.agreement == "above"
    assert row_of(table, FIRST, "AKGNN").agreement == "within the spread"


def test_the_first_row_is_the_reference(table):
    assert table.reference == "AKGNN"
    reference = row_of(table, FIRST, "AKGNN")
    assert reference.is_reference
    assert reference.comparison is None
    assert [row.label for row in table.graphs[0].others] == ["GCN", HOSTILE]


def test_failed_runs_are_kept_with_their_reason(table):
    row = row_of(table, SECOND, "GCN")
    assert row.failures == ((5, HOSTILE),)
    assert list(row.scores) == [0, 1, 2, 3, 4]


def test_a_row_of_failures_only_has_no_summary(spec):
    records = [r for r in table_records(spec) if not r.is_finished]
    table = table_of(spec, collect(spec, records))
    row = row_of(table, SECOND, "GCN")
    assert row.summary is None
    assert row.agreement is None
    assert row.runs.times == {}
    assert table.graphs[0].scale.low < table.graphs[0].scale.high


def test_how_the_numbers_came_about(table):
    runs = row_of(table, FIRST, "AKGNN").runs
    assert runs.command.startswith(f"akgnn train --dataset {FIRST} --model akgnn")
    assert runs.splits == ("public:12345678",)
    assert runs.devices == ("cpu, 2 threads",)
    assert runs.times == {"cpu, 2 threads": Time(3.5, 102.5)}
    assert runs.versions == ("akgnn 0.1.0, commit abc123",)


def test_every_number_of_a_graph_is_on_its_scale(table):
    for graph in table.graphs:
        for row in graph.rows:
            positions = [graph.scale.position(value) for value in row.scores.values()]
            positions += [graph.scale.position(row.published.mean)] if row.published else []
            assert all(0 <= position <= 100 for position in positions)


def test_places_on_a_scale():
    assert Scale(70, 90).position(75) == 25


def test_points_of_a_grid_are_rows_compared_at_the_same_point(tmp_path):
    file = tmp_path / "grid.toml"
    file.write_text(
        f'title = "Grid"\ndatasets = ["{FIRST}"]\nseeds = 3\n[vary]\nnum_layers = [1, 2]\n'
        '[[rows]]\nlabel = "A"\nmodel = "akgnn"\n'
        '[[rows]]\nlabel = "B"\nmodel = "akgnn"\nset = { readout = "last" }\n'
    )
    spec = read_spec(file)
    means = {("A", 1): 80, ("A", 2): 70, ("B", 1): 60, ("B", 2): 69}
    records = [
        record_of(cell, seed, means[cell.row.label, cell.point["num_layers"]] + seed)
        for cell in spec.cells
        for seed in range(3)
    ]
    (graph,) = table_of(spec, collect(spec, records)).graphs
    differences = {row.label: row.comparison.difference for row in graph.others}
    assert differences == {"B, K 1": pytest.approx(20), "B, K 2": pytest.approx(1)}


def test_a_table_says_its_metric(tmp_path):
    spec = table_spec(tmp_path)
    cells = [replace(cell, metric="roc_auc") for cell in spec.cells if cell.dataset == FIRST]
    spec = replace(spec, cells=tuple(cells))
    records = [
        replace(record, metrics={**record.metrics, "test_roc_auc": 70.0})
        for record in table_records(spec)
    ]
    (graph,) = table_of(spec, collect(spec, records)).graphs
    assert graph.caption == f"{FIRST}, ROC-AUC"
    assert graph.rows[0].metric == "ROC-AUC"
    assert graph.rows[0].summary.mean == 70


def test_a_table_says_its_splits(tmp_path):
    spec = table_spec(tmp_path)
    records = table_records(spec)
    graph = table_of(spec, collect(spec, records)).graphs[0]
    assert graph.splits == "split public"
    drawn = [
        replace(r, data=replace(r.data, split=f"public-{r.seed}:1234")) if r.data else r
        for r in records
    ]
    graph = table_of(spec, collect(spec, drawn)).graphs[0]
    assert graph.splits == "6 splits, public-0 to public-5"
    failed = [r for r in records if not r.is_finished]
    assert table_of(spec, collect(spec, failed)).graphs[0].splits == ""


def test_a_row_that_chooses_says_how_often_each_was_chosen(tmp_path):
    file = tmp_path / "chosen.toml"
    file.write_text(
        f'title = "Chosen"\ndatasets = ["{FIRST}"]\nseeds = 2\n'
        '[[rows]]\nlabel = "the better"\nchooses = ["AKGNN", "GCN"]\n'
        '[[rows]]\nlabel = "AKGNN"\nmodel = "akgnn"\nset = { num_layers = 2 }\n'
        '[[rows]]\nlabel = "GCN"\nmodel = "gcn"\n'
    )
    spec = read_spec(file)
    losses = {"akgnn": (0.5, 0.5, 0.5), "gcn": (0.6, 0.4, 0.6)}
    records = [
        replace(record, metrics={**record.metrics, "val_log_loss": losses[cell.row.model][seed]})
        for cell in spec.cells
        for seed in range(3 if cell.row.model else 0)
        for record in [record_of(cell, seed, 80.0 + seed)]
    ]
    results = collect(spec, records)
    table = table_of(spec, results)
    row = row_of(table, FIRST, "the better")
    assert row.is_reference
    assert row.chosen == {"AKGNN": 2, "GCN": 1}
    assert row_of(table, FIRST, "GCN").chosen == {}
    assert row_of(table, FIRST, "GCN").comparison.design == "paired, 3"
    # It takes as long as all rows together.
    assert row.runs.times == {}
    # Kernels of different networks have no mean, nor has a choice a stack of its own.
    assert len(responses_of(results[:1], None)) == 0
    assert len(responses_of(results, None)) == 1
    store = RecordStore(tmp_path)
    for record in records:
        store.append(record)
    detail = dict(details(table, table.graphs[0], row))
    assert detail["Chosen by validation"] == "AKGNN: 2; GCN: 1"
    assert "AKGNN: 2; GCN: 1" in experiments_page(tmp_path, [file]).data["texts"]
