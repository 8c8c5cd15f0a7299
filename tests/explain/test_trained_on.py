import pytest

from akgnn.cli.main import main
from akgnn.errors import DataError
from akgnn.explain.trained_on import trained_on
from akgnn.training.checkpoint import RunFolder
from akgnn.training.plan import RunPlan
from akgnn.training.run import read_result


@pytest.fixture
def run(tmp_path):
    options = ["--dataset", "csbm:num_nodes=200", "--set", "epochs=2"]
    assert main(["train", *options, "--out", str(tmp_path / "run")]) == 0
    return read_result(RunFolder(tmp_path / "run"))


def test_the_data_of_a_run_are_found(run):
    assert trained_on(run).graph.num_nodes == 200


def test_other_data_under_the_same_name_are_refused(run, monkeypatch):
    load = RunPlan.load
    other = load(run.plan)
    split = other.split
    swapped = type(split)(split.name, split.val, split.train, split.test)
    monkeypatch.setattr(RunPlan, "load", lambda self, root: other.with_split(swapped))
    with pytest.raises(DataError, match="csbm is not the data that the run was trained on"):
        trained_on(run)
