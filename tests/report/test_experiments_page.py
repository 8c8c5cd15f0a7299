import shutil

import pytest

from akgnn.errors import RunFolderError
from akgnn.experiments.spec_files import load_spec
from akgnn.experiments.store import RecordStore
from akgnn.report.experiments_page import experiments_page
from akgnn.report.html import render
from akgnn.report.spectrum import Spectrum
from report_data import VERSIONS, record_of


def test_own_experiments_are_shown_in_their_order(results, spec_files):
    page = experiments_page(results, spec_files)
    assert page.counts["experiments"] == ["mine", "myloss", "mylambda", "mydepth"]
    assert list(page.drawn["figures"]) == ["myloss", "mylambda", "mydepth"]
    assert page.shown["summary"]["versions"] == VERSIONS
    assert page.shown["summary"]["failed"] == 1


def test_benchmarks_beside_the_records_are_shown(speed_results, spec_files):
    page = experiments_page(speed_results, spec_files)
    assert list(page.drawn["figures"]) == ["myloss", "mylambda", "mydepth", "speed-curves"]
    assert len(page.shown["speed"].tables) == 4
    html = render(page)
    assert 'href="#speed"' in html
    assert "One adaptive layer: A Card" in html


def test_without_benchmarks_nothing_is_said_of_speed(results, spec_files):
    page = experiments_page(results, spec_files)
    assert page.shown["speed"] is None
    assert 'href="#speed"' not in render(page)


def test_a_damaged_benchmark_is_named(tmp_path, speed_results, spec_files):
    folder = tmp_path / "copy"
    shutil.copytree(speed_results, folder)
    (folder / "bench" / "torn.json").write_text("{")
    page = experiments_page(folder, spec_files)
    assert any("torn.json was skipped" in line for line in page.warnings)
    assert len(page.shown["speed"].tables) == 4


def test_the_torn_line_is_named(results, spec_files):
    page = experiments_page(results, spec_files)
    assert page.shown["skipped"] == page.warnings
    assert "it breaks off in the middle" in page.warnings[0]


def test_the_papers_experiments_come_in_its_order(tmp_path, monkeypatch):
    exact = Spectrum((0.0, 2.0), (1.0,), True)
    monkeypatch.setattr("akgnn.report.response.spectrum_of", lambda graph: exact)
    store = RecordStore(tmp_path)
    for name in ("splits", "depth", "ablation", "table1"):
        cell = next(c for c in load_spec(name).cells if c.dataset == "cora")
        store.append(record_of(cell, 0, 80.0))
    page = experiments_page(tmp_path)
    # What is measured for the depths is measured for λ too; for the loss, epochs are missing. The
    # table of kernels has a row of table 1, and comes after the paper's.
    assert page.counts["experiments"] == [
        "table1",
        "ablation",
        "lambda",
        "depth",
        "splits",
        "kernels",
        "searched",
    ]
    assert page.shown["commands"][0] == f"akgnn reproduce table1 --out {tmp_path.name}"


def test_a_folder_without_readable_records_is_refused(tmp_path):
    (tmp_path / "records.jsonl").write_text("{}\n")
    with pytest.raises(RunFolderError, match="holds no records that can be read"):
        experiments_page(tmp_path)


def test_records_of_unknown_experiments_are_refused(results):
    with pytest.raises(RunFolderError, match=r"--spec FILE\.toml adds one of your own"):
        experiments_page(results)
