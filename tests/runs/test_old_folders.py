"""Folders that earlier versions wrote, with what those versions answered.

`tests/fixtures/runs` holds them. Formats 1 and 2 of runs and format 1 of estimators were written by
version 0.1.0; beside each lies what it predicted, or came to when it was resumed.
"""

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from akgnn.estimator.classifier import AKGNNClassifier
from akgnn.runs.folder import RunFolder
from akgnn.runs.load import load_run, plan_of
from akgnn.runs.train import train_run
from akgnn.training.metrics import METRICS

FIXTURES = Path(__file__).parents[1] / "fixtures" / "runs"
OF_PROBABILITIES = [
    f"{part}_{name}"
    for part in ("test", "val")
    for name, metric in METRICS.items()
    if metric.of_probabilities
]


@pytest.fixture
def copied(tmp_path):
    """Copies a folder, which reading must not change."""
    return lambda name: Path(shutil.copytree(FIXTURES / name, tmp_path / name))


def expected(name):
    return (FIXTURES / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["run-1", "run-2-dataset"])
def test_a_run_predicts_what_its_version_predicted(name, copied):
    run = load_run(copied(name))
    assert_same_table(run.predict().to_csv(), expected(f"{name}.csv"))
    # Data of the first versions are still the same data.
    assert run.data().split.label == run.facts.split


def test_a_run_on_tables_predicts_new_tables_as_its_version_did(copied):
    run = load_run(copied("run-2-tables"))
    # Only the source said then that the rows of features sum to 1.
    assert run.facts.recipe.normalise_rows
    found = run.predict(FIXTURES / "new-nodes.csv", FIXTURES / "new-edges.csv")
    assert_same_table(found.to_csv(), expected("run-2-tables.csv"))


def test_a_stopped_run_is_resumed_to_the_end_its_version_came_to(copied):
    folder = RunFolder(copied("run-2-stopped"))
    plan = plan_of(folder, folder.read())
    trained = len(folder.read()["history"]["val_loss"])
    result = train_run(plan, plan.load(), folder, resume=True).to_dict()
    wanted = json.loads(expected("run-2-stopped.json"))
    for name, value in wanted.items():
        if name in OF_PROBABILITIES:
            # That version did not calibrate them.
            assert result[name] != value
        elif name == "starts":
            for start, other in zip(result[name], value, strict=True):
                assert start == pytest.approx(other)
        else:
            is_number = not isinstance(value, str)
            assert result[name] == (pytest.approx(value) if is_number else value), name
    assert 0 < trained < sum(start["epochs"] for start in wanted["starts"])
    assert repr(load_run(folder.path).to_dict()) == repr(result)


@pytest.mark.parametrize(("kind", "rows"), [("table", 10), ("graph", 40)])
def test_an_estimator_predicts_what_its_version_predicted(kind, rows, copied):
    estimator = AKGNNClassifier.load(copied(f"estimator-1-{kind}"))
    x = np.loadtxt(FIXTURES / "rows.csv", delimiter=",")[:rows]
    wanted = np.loadtxt(FIXTURES / f"estimator-1-{kind}.csv", delimiter=",")
    # The network computes in float32, of which processors differ in the last digits.
    np.testing.assert_allclose(estimator.predict_proba(x), wanted, rtol=0, atol=1e-6)


def assert_same_table(found, wanted):
    """Equal words, and numbers up to the last digit that is printed: so far processors differ."""
    rows, others = (list(csv.reader(io.StringIO(text))) for text in (found, wanted))
    assert [row[:2] for row in rows] == [row[:2] for row in others]
    assert rows[0] == others[0]
    for row, other in zip(rows[1:], others[1:], strict=True):
        numbers = [[float(cell) for cell in cells[2:]] for cells in (row, other)]
        np.testing.assert_allclose(*numbers, rtol=0, atol=1.5e-6)
