import json
import webbrowser
from pathlib import Path

import pytest

from akgnn.cli.main import main
from akgnn.report import html
from report_data import write_results, write_specs


@pytest.fixture(scope="module")
def specs(tmp_path_factory):
    files = write_specs(tmp_path_factory.mktemp("specs"))
    return [word for file in files for word in ("--spec", str(file))]


@pytest.fixture(scope="module")
def results(tmp_path_factory, specs):
    files = [Path(word) for word in specs if word != "--spec"]
    return write_results(tmp_path_factory.mktemp("report") / "results", files)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    options = ["--dataset", "csbm:num_nodes=200", "--set", "epochs=5"]
    assert main(["train", *options, "--out", str(out)]) == 0
    return out


def test_a_page_of_experiments(results, specs, tmp_path, capsys):
    out = tmp_path / "page.html"
    assert main(["report", str(results), *specs, "--out", str(out), "--json"]) == 0
    captured = capsys.readouterr()
    said = json.loads(captured.out)
    assert said["out"] == str(out)
    assert said["experiments"] == ["mine", "myloss", "mylambda", "mydepth"]
    assert len(said["skipped"]) == 1
    assert "breaks off in the middle" in captured.err
    assert "Three methods" in out.read_text(encoding="utf-8")


def test_a_page_of_a_run_with_the_default_name(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(run)]) == 0
    assert capsys.readouterr().out.endswith(": report.html\n")
    assert "Doubtful labels" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_page_opens_in_the_browser(run, tmp_path, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr("webbrowser.open", lambda address: asked.append(address) or True)
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(run), "--out", "my page.html", "--open"]) == 0
    assert asked == [(tmp_path / "my page.html").as_uri()]
    assert capsys.readouterr().err == ""


def test_a_page_is_html(run, tmp_path, capsys):
    assert main(["report", str(run), "--out", str(tmp_path / "r.pdf")]) == 2
    assert "--out must end in .html, got 'r.pdf'" in capsys.readouterr().err


@pytest.mark.parametrize("answer", [False, webbrowser.Error("none"), OSError("none")])
def test_without_a_browser_a_line_says_so_and_all_is_well(
    answer, run, tmp_path, monkeypatch, capsys
):
    def no_browser(address):
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr("webbrowser.open", no_browser)
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(run), "--open"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ("akgnn: No browser was found here; open report.html in one yourself.\n")
    assert captured.out.endswith(": report.html\n")


def refused(arguments, capsys):
    assert main(["report", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_a_folder_that_is_neither_is_refused(tmp_path, capsys):
    assert "holds neither records (records.jsonl) nor a run" in refused([str(tmp_path)], capsys)
    assert "neither" in refused([str(tmp_path / "no")], capsys)


def test_an_empty_results_folder_is_refused(tmp_path, capsys):
    (tmp_path / "records.jsonl").touch()
    assert "holds no records that can be read" in refused([str(tmp_path)], capsys)


def test_a_damaged_run_is_refused(tmp_path, capsys):
    (tmp_path / "run.json").write_text("{")
    assert "is damaged" in refused([str(tmp_path)], capsys)


def test_a_folder_of_several_seeds_names_one(tmp_path, capsys):
    (tmp_path / "seed-3").mkdir()
    (tmp_path / "seed-3" / "run.json").write_text("{}")
    assert "seed-3" in refused([str(tmp_path)], capsys)


def test_a_place_that_cannot_be_written_is_refused(run, tmp_path, capsys):
    assert "Cannot write" in refused([str(run), "--out", str(tmp_path)], capsys)
    assert "Cannot write" in refused([str(run), "--out", str(tmp_path / "no" / "a.html")], capsys)


def test_a_spec_with_a_mistake_is_refused(results, tmp_path, capsys):
    (tmp_path / "bad.toml").write_text("title = 3\n")
    assert "bad.toml, line 1" in refused(
        [str(results), "--spec", str(tmp_path / "bad.toml")], capsys
    )


def test_specs_do_not_go_with_a_run(run, specs, capsys):
    assert "--spec goes with a folder of records" in refused([str(run), *specs], capsys)


def test_missing_packages_are_named(run, monkeypatch, capsys):
    monkeypatch.setattr(html, "find_spec", lambda name: None)
    assert "pip install 'akgnn[report]'" in refused([str(run)], capsys)
