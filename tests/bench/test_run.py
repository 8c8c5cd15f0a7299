from datetime import UTC, datetime, timedelta

import torch

from akgnn.bench import run as run_module
from akgnn.bench.cases import LayerPlan
from akgnn.bench.run import SUITES, Run, Sizes, plans_of


def test_the_record_says_what_where_and_when():
    run = Run(5, torch.device("cpu"))
    assert run.record.cases == ()
    case = run.measure(LayerPlan(num_edges=500, mean_degree=4, channels=2))
    record = run.record
    assert record.cases == (case,)
    assert record.repetitions == 5
    assert {"torch", "akgnn", "torch_geometric"} <= set(record.versions)
    assert record.environment["cores"] >= 1
    assert record.environment["threads"] == torch.get_num_threads()
    age = datetime.now(UTC) - datetime.fromisoformat(record.began)
    assert timedelta(seconds=-1) <= age < timedelta(minutes=5)


def test_where_the_system_does_not_name_the_processor_it_is_a_cpu(monkeypatch, tmp_path):
    monkeypatch.setattr(run_module, "_CPUINFO", tmp_path / "no")
    assert Run(5, torch.device("cpu")).record.device.startswith("CPU, ")
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: Some Chip\n")
    monkeypatch.setattr(run_module, "_CPUINFO", tmp_path / "cpuinfo")
    assert Run(5, torch.device("cpu")).record.device.startswith("Some Chip, ")


def described(plans):
    return [plan.title for plan in plans]


def test_all_suites_with_what_they_have_by_themselves():
    assert described(plans_of(SUITES, Sizes())) == [
        "layer, even, 2,000,000 edges, float32",
        "layer, power-law, 2,000,000 edges, float32",
        "epoch, cora",
        "epoch, citeseer",
        "epoch, pubmed",
        "growth, even, 10,000 edges, float32",
        "growth, even, 100,000 edges, float32",
        "growth, even, 1,000,000 edges, float32",
        "growth, even, 10,000,000 edges, float32",
        "growth, even, 100,000,000 edges, float32",
    ]


def test_growth_has_a_mean_degree_of_20():
    assert {plan.mean_degree for plan in plans_of(["growth"], Sizes())} == {20}


def test_what_is_asked_for_takes_the_place_of_the_defaults():
    sizes = Sizes(
        edges=[1000, 2000],
        mean_degree=4,
        degrees=["even"],
        channels=3,
        dtypes=["float32", "bfloat16"],
    )
    for suite in ("layer", "growth"):
        plans = plans_of([suite], sizes)
        assert described(plans) == [
            f"{suite}, even, 1,000 edges, float32",
            f"{suite}, even, 2,000 edges, float32",
            f"{suite}, even, 1,000 edges, bfloat16",
            f"{suite}, even, 2,000 edges, bfloat16",
        ]
        assert {(plan.mean_degree, plan.channels) for plan in plans} == {(4, 3)}
