import pytest

from akgnn.experiments.comparisons import against_row
from akgnn.experiments.results import CellResult, collect
from akgnn.experiments.statistics import compare
from report_data import FIRST, HOSTILE, SECOND, record_of, table_spec

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
