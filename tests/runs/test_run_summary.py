"""What a run says of itself."""

import json
from dataclasses import replace

import pytest

from akgnn.runs.api import train
from akgnn.runs.load import load_run

DATASET = "csbm:num_nodes=80,num_features=6,homophily=0.8,signal=6"
SETTINGS = {"epochs": 4, "patience": 4, "hidden_channels": 4, "num_layers": 2}


def test_a_run_is_shown_in_a_line():
    run = train("csbm:num_nodes=100", settings={"epochs": 2, "hidden_channels": 4})
    accuracy, (low, high) = run.result.test_accuracy, run.result.test_accuracy_ci95
    shown = f"{accuracy:.1f} % ({low:.0f} to {high:.0f} with {run.result.num_test} nodes)"
    shown = f"seed 0: test accuracy {shown}, epoch {run.result.best_epoch} of 2)"
    assert repr(run) == f"Run(akgnn (paper) on csbm:num_nodes=100, {shown}"
    assert len(repr(run.result)) < 1500


def test_in_a_notebook_a_run_shows_its_record_and_loads_nothing(tmp_path):
    folder = tmp_path / "run"
    train(DATASET, settings={**SETTINGS, "epochs": 3}, out=folder)
    run = load_run(folder)
    (folder / "weights.safetensors").unlink()
    name = "<img src=x onerror=alert(1)>"
    facts = replace(run.facts, split=name, class_names=(name,) * run.num_classes)
    text = replace(run, facts=facts)._repr_html_()
    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in text
    accuracy = f"{run.result.test_accuracy:.1f} %"
    for told in ("akgnn (paper), seed 0", f"{run.facts.num_nodes} nodes", accuracy, "<svg"):
        assert told in text


def test_an_ensemble_says_what_its_members_came_to():
    run = train(DATASET, settings=SETTINGS, ensemble=2, seed=3)
    shown = run.to_dict()
    assert json.loads(json.dumps(shown)) == shown
    assert [member["seed"] for member in shown["members"]] == [3, 4]
    alone = sum(member["test_accuracy"] for member in shown["members"]) / 2
    assert shown["gain"] == pytest.approx(shown["test_accuracy"] - alone)
    told = f"2 members; alone {alone:.1f} % on average"
    assert told in run._repr_html_()
    assert told not in replace(run, members=())._repr_html_()
