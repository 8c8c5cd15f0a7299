"""Numbers in the documents stand in the records that the documents name."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "reproducing.md").read_text(encoding="utf-8")
BASELINES = sorted((ROOT / "results" / "baselines" / "cora").glob("*.json"))


@pytest.mark.parametrize("file", BASELINES, ids=lambda file: file.stem)
def test_the_baselines_are_those_of_the_records(file):
    record = json.loads(file.read_text())
    assert record["split"] == "public:76754223"
    assert [run["seed"] for run in record["runs"]] == list(range(10))
    assert f"| {file.stem} | {record['mean']:.1f} ± {record['std']:.1f} |" in TEXT


def test_no_baseline_is_shown_without_its_record():
    table = TEXT.partition("| model | measured | published |")[2]
    shown = re.findall(r"^\| (\w+) \| [\d.]+ ±", table, flags=re.M)
    assert shown == [file.stem for file in BASELINES]


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_akgnns_accuracies_are_those_of_the_records(name):
    record = json.loads((ROOT / "results" / "akgnn" / f"{name}.json").read_text())
    low, high = record["ci95"]
    assert f"{record['mean']:.2f} ± {record['std']:.2f}" in TEXT
    assert f"{low:.2f} to {high:.2f}" in TEXT
    decayed = json.loads((ROOT / "results" / "akgnn" / f"{name}-decay-biases.json").read_text())
    assert f"{decayed['mean']:.2f} ± {decayed['std']:.2f}" in TEXT
