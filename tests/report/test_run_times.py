from akgnn.experiments.results import collect
from akgnn.report.run_times import run_times_of
from akgnn.report.tables import table_of
from report_data import HOSTILE, table_records, table_spec


def test_medians_by_method_and_graph(tmp_path):
    spec = table_spec(tmp_path)
    records = [r for r in table_records(spec) if r.is_finished]
    (times,) = run_times_of([table_of(spec, collect(spec, records))])
    assert [label for label, _ in times.rows] == ["AKGNN", "GCN", HOSTILE]
    first, second = dict(times.rows)["GCN"]
    assert (first.seconds, second.seconds) == (3.5, 3.0)
    assert times.devices == ("cpu, 2 threads",)


def test_a_table_of_failures_has_none(tmp_path):
    spec = table_spec(tmp_path)
    records = [r for r in table_records(spec) if not r.is_finished]
    assert run_times_of([table_of(spec, collect(spec, records))]) == []
