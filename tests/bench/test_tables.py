from dataclasses import replace

from akgnn.bench.tables import (
    as_markdown,
    case_table,
    failures_of,
    growth_tables,
    record_table,
    title_of,
)
from bench_data import epoch_case, full_record, growth_case, layer_case, record


def test_times_stand_beside_ours_and_the_copy():
    head, *rows = case_table(layer_case(10_000))
    assert head == [
        "method",
        "forward, ms",
        "× akgnn",
        "of copy",
        "forward + backward, ms",
        "× akgnn",
        "of copy",
        "memory, MiB",
    ]
    assert rows == [
        ["akgnn", "5.12", "1.00", "50 %", "10.2", "1.00", "50 %", "6.00"],
        ["torch CSR", "10.2", "2.00", "25 %", "20.5", "2.00", "25 %", "8.00"],
        ["PyG scatter", "failed", "–", "–", "failed", "–", "–", "–"],
    ]


def test_an_epoch_has_no_share():
    assert case_table(epoch_case()) == [
        ["method", "epoch, ms", "× akgnn", "memory, MiB"],
        ["akgnn", "11.0", "1.00", "20.0"],
        ["PyG GCN", "33.0", "3.00", "–"],
    ]


def test_where_ours_failed_there_is_nothing_to_compare_with():
    case = epoch_case()
    failed = replace(case.timed[0], seconds=(), error="no")
    _, *rows = case_table(replace(case, timed=(failed, case.timed[1])))
    assert rows == [["akgnn", "failed", "–", "20.0"], ["PyG GCN", "33.0", "–", "–"]]


def test_failures_are_said_once_with_their_reason():
    assert failures_of(layer_case()) == ["PyG scatter: out of memory"]
    assert failures_of(epoch_case()) == []
    nothing = replace(layer_case(), timed=(), error="does not fit")
    assert failures_of(nothing) == [f"{title_of(nothing)}: does not fit"]


def test_titles_say_the_size():
    assert title_of(layer_case(graph="power-law")) == (
        "power law: 100 nodes, 1,000 edges (largest degree 10), 64 channels, float32"
    )
    assert title_of(epoch_case()).startswith("Cora: 2,708 nodes")


def test_a_suites_cases_are_one_table():
    head, *rows = record_table(full_record(), "layer")
    assert head[:2] == ["graph", "method"]
    assert [row[0][:9] for row in rows] == ["even degr", "", "", "power law", "", ""]
    assert record_table(full_record(), "epoch")[1][1:] == ["akgnn", "11.0", "1.00", "20.0"]
    assert record_table(record(), "layer") == []


def test_growth_is_time_an_edge_and_memory_a_node():
    tables = growth_tables(full_record())
    assert tables["nanoseconds an edge"] == [
        ["edges", "akgnn", "PyG scatter"],
        ["10,000", "10.0", "20.0"],
        ["100,000", "10.0", "20.0"],
        ["1,000,000", "10.0", "–"],
        ["10,000,000", "10.0", "–"],
    ]
    assert tables["bytes of memory a node"][1] == ["10,000", "800", "1,600"]
    assert growth_tables(record()) == {}


def test_several_types_of_numbers_are_told_apart():
    two = record(growth_case(10**4), growth_case(10**4, dtype="bfloat16"))
    sizes = [row[0] for row in growth_tables(two)["nanoseconds an edge"][1:]]
    assert sizes == ["10,000, even degrees, float32", "10,000, even degrees, bfloat16"]


def test_markdown_has_numbers_to_the_right():
    table = [["a", "b", "c"], ["x", "1", "p"], ["", "–", "2"], ["y", "failed", ""]]
    head, rule, *_ = as_markdown(table).splitlines()
    assert head == "| a | b | c |"
    assert rule == "| --- | --: | --- |"
