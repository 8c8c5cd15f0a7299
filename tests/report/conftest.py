"""A folder of records and a run, made once."""

import pytest

from akgnn.cli.main import main
from report_data import write_results, write_specs


@pytest.fixture(scope="session")
def spec_files(tmp_path_factory):
    return write_specs(tmp_path_factory.mktemp("specs"))


@pytest.fixture(scope="session")
def results(tmp_path_factory, spec_files):
    return write_results(tmp_path_factory.mktemp("report") / "results", spec_files)


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    options = ["--dataset", "csbm:num_nodes=200", "--set", "epochs=20", "--set", "num_layers=3"]
    assert main(["train", *options, "--out", str(out)]) == 0
    return out
