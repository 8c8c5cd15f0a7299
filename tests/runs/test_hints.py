from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.data.tables.settings import TableSettings
from akgnn.runs.hints import hints, scale_hint, weight_hint
from akgnn.runs.plan import RunPlan, RunSettings

PLAN = RunPlan.make(RunSettings())


def test_the_feature_of_the_largest_numbers_is_named():
    data = load_dataset("csbm:num_nodes=60,num_features=2")
    named = SimpleNamespace(feature_names=("age", "year"))
    years = torch.stack([torch.full((60,), 30.0), torch.full((60,), -2024.0)], 1)
    plain = TableSettings(prepare="plain")
    assert scale_hint(replace(data, x=years, tables=plain)) is None
    assert scale_hint(replace(data, x=years, recipe=named, tables=plain)) == (
        "Column 'year' holds numbers as large as 2,024; networks learn best from numbers of about "
        "1. `prepare='auto'` scales them."
    )
    assert scale_hint(replace(data, x=years[:, :1], recipe=named, tables=plain)) is None
    # Prepared by what they are, only outliers are large, and those are brought near.
    assert scale_hint(replace(data, x=years, recipe=named, tables=TableSettings())) is None


@pytest.mark.parametrize(
    ("file", "tables", "is_said"),
    [
        ("e.csv", {}, True),
        (("e.csv", "f.csv"), {}, True),
        ("e.csv", {"weight": "calls"}, False),
        ("e.csv", {"source": "Weight"}, False),
        ("plain.csv", {}, False),
        ("e.jsonl", {}, False),
        ((), {}, False),
        ("", {}, False),
    ],
    ids=["one", "several", "asked for", "an end", "none", "slow to open", "no edges", "in memory"],
)
def test_weights_that_nobody_asked_for_are_mentioned(file, tables, is_said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("e.csv").write_text("source,target,Weight,calls\na,b,2,3\n")
    Path("plain.csv").write_text("source,target,calls\na,b,3\n")
    Path("e.jsonl").write_text('{"source": "a", "target": "b", "weight": 2}\n')
    data = load_dataset("csbm:num_nodes=60")
    start = {"source": "source"} if file != () else {}
    read = TableSettings(**{"nodes": "n.csv", "edges": file, **start, **tables})
    expected = "Every edge weighs 1; `weight='Weight'` takes the weights of that column."
    hint = weight_hint(replace(data, tables=read))
    assert hint == (expected if is_said else None)
    assert hints(PLAN, replace(data, tables=read)) == ([expected] if is_said else [])
    assert hints(PLAN, data) == []
