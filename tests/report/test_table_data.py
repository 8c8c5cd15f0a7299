import pytest

from akgnn.experiments.results import collect
from akgnn.report.table_data import details, table_data
from akgnn.report.tables import table_of
from report_data import HOSTILE, table_records, table_spec


@pytest.fixture
def table(tmp_path):
    spec = table_spec(tmp_path)
    return table_of(spec, collect(spec, table_records(spec)))


def test_single_runs_are_kept_as_numbers(table):
    data = table_data([table])
    assert list(data["tables"]) == ["mine-1", "mine-2"]
    row = data["tables"]["mine-1"]["rows"][0]
    assert row["scores"] == [80.0, 80.1, 80.2, 80.3, 80.4, 80.5]
    # Seeds are written where they are not 0, 1, 2 and so on.
    assert "seeds" not in row


def test_seeds_with_a_gap_are_written(tmp_path):
    spec = table_spec(tmp_path)
    records = [record for record in table_records(spec) if record.seed != 1]
    data = table_data([table_of(spec, collect(spec, records))])["tables"]["mine-1"]
    assert data["rows"][0]["seeds"] == [0, 2, 3, 4, 5]


def test_texts_that_rows_share_are_kept_once(table):
    data = table_data([table])
    assert len(data["texts"]) == len(set(data["texts"]))
    commands = [text for text in data["texts"] if text.startswith("akgnn train --dataset @")]
    # One for each method and number of runs; both graphs share it.
    assert len(commands) == 3


def test_details_have_p_values_and_failures(table):
    graph = table.graphs[1]
    found = dict(details(table, graph, graph.rows[1]))
    assert found["Compared with AKGNN"].startswith("runs unpaired, 6 and 5; corrected p ")
    assert found["Failed: seed 5"] == HOSTILE
    assert found["A run, median"] == "3.0 s, 102 MiB (cpu, 2 threads)"
