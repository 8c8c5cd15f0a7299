"""A folder of records and a run, made once."""

import pytest

from akgnn.bench.record import write_record
from akgnn.cli.main import main
from akgnn.experiments.spec_files import read_spec
from akgnn.experiments.store import RecordStore
from bench_data import CARD, MACHINE, full_record
from report_data import (
    VARIED,
    homophily_records,
    homophily_spec,
    varied_records,
    write_results,
    write_specs,
)


@pytest.fixture(scope="session")
def spec_files(tmp_path_factory):
    return write_specs(tmp_path_factory.mktemp("specs"))


@pytest.fixture(scope="session")
def results(tmp_path_factory, spec_files):
    return write_results(tmp_path_factory.mktemp("report") / "results", spec_files)


@pytest.fixture(scope="session")
def speed_results(tmp_path_factory, spec_files):
    folder = write_results(tmp_path_factory.mktemp("speed") / "results", spec_files)
    (folder / "bench").mkdir()
    for machine in (MACHINE, CARD):
        write_record(full_record(machine), folder / "bench")
    return folder


@pytest.fixture(scope="session")
def homophily_file(tmp_path_factory):
    return homophily_spec(tmp_path_factory.mktemp("homophily"))


@pytest.fixture(scope="session")
def homophily_results(tmp_path_factory, homophily_file):
    folder = tmp_path_factory.mktemp("homophily-results")
    store = RecordStore(folder)
    for record in homophily_records(read_spec(homophily_file)):
        store.append(record)
    return folder


@pytest.fixture(scope="session")
def varied_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("varied") / "myvaried.toml"
    file.write_text(VARIED, encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def varied_results(tmp_path_factory, varied_file):
    folder = tmp_path_factory.mktemp("varied-results")
    store = RecordStore(folder)
    for record in varied_records(read_spec(varied_file)):
        store.append(record)
    return folder


@pytest.fixture(scope="session")
def signed_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "signed"
    options = ["--dataset", "csbm:num_nodes=200,homophily=0.1", "--preset", "any-graph"]
    changes = ["--set", "epochs=8", "--set", "num_layers=3"]
    assert main(["train", *options, *changes, "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    options = ["--dataset", "csbm:num_nodes=200", "--set", "epochs=20", "--set", "num_layers=3"]
    assert main(["train", *options, "--out", str(out)]) == 0
    return out
