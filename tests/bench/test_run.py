from datetime import UTC, datetime, timedelta

import torch

from akgnn.bench import run as run_module
from akgnn.bench.layer_case import LayerPlan
from akgnn.bench.run import Run


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
