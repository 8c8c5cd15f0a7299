from dataclasses import replace

from akgnn.bench.record import BenchContents
from akgnn.report.speed import bars_of, failures_in, plots_of, speed_of
from akgnn.report.speed_documents import svg
from bench_data import CARD, full_record, growth_case, layer_case, record


def contents(*records):
    return BenchContents(records, ())


def test_without_records_there_is_no_section():
    assert speed_of(contents()) is None
    assert plots_of(contents()) == {}


def test_every_device_has_its_tables():
    speed = speed_of(contents(full_record(), full_record(CARD)))
    assert [table.title for table in speed.tables] == [
        "One adaptive layer: A Card",
        "One adaptive layer: A Processor, 2 threads",
        "A whole epoch: A Card",
        "A whole epoch: A Processor, 2 threads",
    ]
    first = speed.tables[0]
    assert first.note == "2026-01-02, 3 repetitions, torch 2.13.0, commit abc123."
    assert len(first.table) == 1 + 2 * 3
    assert len(first.failures) == 2


def test_bars_say_how_many_times_ours_the_others_take():
    bars = bars_of(contents(full_record()))
    assert bars[0].title == "One adaptive layer, A Processor, 2 threads"
    ours, *others = bars[0].bars
    assert (ours.name, ours.times, ours.said) == ("akgnn", 1.0, "1")
    assert all(bar.said == f"{bar.times:.1f} times" for bar in others)
    assert max(bar.share for bar in bars[0].bars) == 1.0
    assert [bar.milliseconds for bar in bars[0].bars] == sorted(
        b.milliseconds for b in bars[0].bars
    )


def test_curves_are_time_an_edge_and_memory_a_node():
    plots = plots_of(contents(full_record()))
    assert next(iter(plots)) == "growth-time-even-float32-64-a-processor-2-threads"
    time, memory = plots.values()
    assert time.drawn["unit"] == "ns an edge"
    ours, scatter = time.drawn["lines"]
    assert ours == {"name": "akgnn", "x": [10**4, 10**5, 10**6, 10**7], "y": [10.0] * 4}
    # From a million edges on it was out of memory.
    assert scatter == {"name": "PyG scatter", "x": [10**4, 10**5], "y": [20.0] * 2}
    assert [line["y"][0] for line in memory.drawn["lines"]] == [800, 1600]
    assert memory.rows[-1] == ["10,000,000", "800", "–"]
    assert "akgnn 10 at 10,000 edges, 10 at 10,000,000" in time.summary


def test_one_size_alone_is_no_curve():
    assert plots_of(contents(record(growth_case(10**4)))) == {}


def test_layers_of_several_sizes_have_curves_for_each_kind_of_graph():
    sizes = [layer_case(edges, graph=kind) for kind in ("even", "power-law") for edges in (10, 100)]
    names = list(plots_of(contents(record(*sizes))))
    assert [name.rpartition("-a-processor")[0] for name in names] == [
        "layer-time-even-float32-64",
        "layer-memory-even-float32-64",
        "layer-time-power-law-float32-64",
        "layer-memory-power-law-float32-64",
    ]


def test_memory_that_nobody_saw_is_no_curve():
    cases = [growth_case(10**4), growth_case(10**5)]
    unseen = [
        replace(case, timed=tuple(replace(timed, extra_bytes=None) for timed in case.timed))
        for case in cases
    ]
    assert len(plots_of(contents(record(*unseen)))) == 1


def test_who_has_no_points_still_has_a_colour():
    unseen = [
        replace(case, timed=(replace(case.timed[0], extra_bytes=None), case.timed[1]))
        for case in (growth_case(10**4), growth_case(10**5))
    ]
    _, memory = plots_of(contents(record(*unseen))).values()
    assert [line["x"] for line in memory.drawn["lines"]] == [[], [10**4, 10**5]]
    assert "akgnn not known; PyG scatter 1600 at" in memory.summary
    assert "akgnn" in svg(memory)


def test_what_did_not_fit_is_named():
    missing = replace(growth_case(10**7), timed=(), error="does not fit")
    (line,) = failures_in(record(missing), "growth")
    assert line.endswith("10,000,000 edges (largest degree 20), 64 channels, float32: does not fit")
