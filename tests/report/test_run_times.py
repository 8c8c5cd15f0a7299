from dataclasses import replace

from akgnn.experiments.results import collect
from akgnn.report.run_times import run_times_of
from akgnn.report.tables import table_of
from report_data import HOSTILE, table_records, table_spec


def test_medians_by_method_and_graph(tmp_path):
    spec = table_spec(tmp_path)
    records = [r for r in table_records(spec) if r.is_finished]
    (times,) = run_times_of([table_of(spec, collect(spec, records))])
    assert [row.label for row in times.rows] == ["AKGNN", "GCN", HOSTILE]
    assert {row.device for row in times.rows} == {"cpu, 2 threads"}
    first, second = times.rows[1].times
    assert (first.seconds, second.seconds) == (3.5, 3.0)


def test_devices_are_kept_apart(tmp_path):
    spec = table_spec(tmp_path)
    records = [r for r in table_records(spec) if r.is_finished and r.plan.which.model == "gcn"]
    other = replace(records[0], environment={"device": "a card", "threads": 1}, seconds=0.25)
    (times,) = run_times_of([table_of(spec, collect(spec, [other, *records[1:]]))])
    assert [row.device for row in times.rows] == ["a card, 1 thread", "cpu, 2 threads"]
    assert times.rows[0].times[0].seconds == 0.25
    assert times.rows[0].times[1] is None


def test_a_table_of_failures_has_none(tmp_path):
    spec = table_spec(tmp_path)
    records = [r for r in table_records(spec) if not r.is_finished]
    assert run_times_of([table_of(spec, collect(spec, records))]) == []
