import base64
import hashlib
import math
import re
from dataclasses import replace
from importlib.util import find_spec

import pytest

from akgnn.errors import MissingExtraError, RunFolderError
from akgnn.experiments.spec_files import read_spec
from akgnn.experiments.store import RecordStore
from akgnn.report import html
from akgnn.report.experiments_page import experiments_page
from akgnn.report.figures import Figure
from akgnn.report.packing import deflated_asset
from akgnn.report.panels import Panel
from akgnn.report.response import Response, Spectrum
from report_data import HOSTILE, read_drawn, read_packed, table_records

# What the simplest template is shown.
BARE = {
    "heading": "",
    "model": "",
    "data": "",
    "nodes": (),
    "explained": (),
    "called": str,
    "class_of": str,
}


@pytest.fixture(scope="module")
def page(results, spec_files):
    return experiments_page(results, spec_files)


@pytest.fixture(scope="module")
def text(page):
    return html.render(page)


def test_what_is_drawn_comes_back_whatever_is_in_it():
    page = html.Page("T", "explanation.html", BARE, (), (), {}, data={HOSTILE: [1.5, math.nan]})
    text = html.render(page)
    assert read_drawn(text)[HOSTILE] == [1.5, None]
    assert HOSTILE not in text


def test_the_drawing_library_is_compressed_and_known_to_the_policy(text):
    library = html.asset(html.PLOTLY)
    assert read_packed(text, "plotly").decode() == library
    digest = base64.b64encode(hashlib.sha256(library.encode()).digest()).decode()
    assert f"sha256-{digest}" in text
    assert library[:1000] not in text


def test_labels_and_errors_are_shown_as_text(text):
    assert "onerror=alert" in text
    assert "<img" not in text.partition('id="packed-drawn"')[0]
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in text


def test_runs_without_test_nodes_leave_dashes(tmp_path, spec_files):
    store = RecordStore(tmp_path)
    for record in table_records(read_spec(spec_files[0])):
        metrics = {**record.metrics, "test_accuracy": math.nan} if record.metrics else {}
        store.append(replace(record, metrics=metrics))
    text = html.render(experiments_page(tmp_path, spec_files))
    assert "nan" not in text.partition('id="packed-drawn"')[0].partition("<tbody>")[2]


def test_scripts_run_by_their_hashes_only(text):
    policy = text.partition('http-equiv="Content-Security-Policy" content="')[2].partition('"')[0]
    assert "default-src &#39;none&#39;" in policy
    script = policy.partition("script-src")[2]
    assert "unsafe" not in script
    assert script.count("sha256-") == 7


def test_nothing_is_loaded_from_elsewhere(text):
    head = text.partition('id="packed-drawn"')[0]
    assert "http://" not in head
    assert "https://" not in head
    assert "src=" not in head.replace("src=x onerror", "")


def test_an_earlier_page_is_replaced(page, tmp_path):
    out = tmp_path / "report.html"
    out.write_text("old")
    html.write(page, out)
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_page_that_cannot_be_written_is_said(page, tmp_path):
    with pytest.raises(RunFolderError, match="Cannot write"):
        html.write(page, tmp_path / "no" / "report.html")


@pytest.mark.parametrize(
    ("name", "message"), [("", "it is a folder"), ("no/report.html", "there is no folder")]
)
def test_places_are_checked_before_the_work(tmp_path, name, message):
    with pytest.raises(RunFolderError, match=message):
        html.check_out(tmp_path / name)


def test_a_read_only_folder_is_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(RunFolderError, match="is read-only"):
        html.check_out(tmp_path / "report.html")


def test_missing_packages_are_named_by_their_extra(monkeypatch):
    monkeypatch.setattr(
        html, "find_spec", lambda name: None if name == "jinja2" else find_spec(name)
    )
    with pytest.raises(MissingExtraError, match=r"akgnn\[report\]"):
        html.check_packages()


def test_what_is_drawn_are_the_panels_and_responses():
    panels = tuple(Panel("", "", (), (), {"depths": [depth]}) for depth in (1, 2))
    figure = Figure("mine", "depth", "Title", "About", panels)
    spectrum = Spectrum((0.0, 1.0, 2.0), (0.25, 0.75), True)
    response = Response("Cora", (2.5, 2.0), "last", spectrum, "All of it.")
    page = html.Page("Title", "run.html", {}, (figure,), (response,), {})
    assert page.drawn == {
        "figures": {"mine": {"kind": "depth", "panels": [{"depths": [1]}, {"depths": [2]}]}},
        "responses": [
            {
                "name": "Cora",
                "graph": "Cora",
                "lambda": [2.5, 2.0],
                "readout": "last",
                "note": "All of it.",
            }
        ],
        "spectra": {"Cora": [0.25, 0.75]},
    }


def test_the_drawing_library_is_the_one_that_its_note_names():
    note, script = html.asset("plotly/README.md"), html.asset(html.PLOTLY)
    assert hashlib.sha256(script.encode()).hexdigest() in note
    version = re.search(r"version: (\S+)", note)[1]
    assert f"plotly.js (basic - minified) v{version}" in script
    assert "MIT" in html.asset("plotly/LICENSE")


def test_charts_use_no_type_that_the_library_lacks():
    scripts = "".join(html.asset(name) for name in html.SCRIPTS)
    assert set(
        re.findall(r'\btype: "(bar|box|contour|heatmap|histogram|parcoords|violin)"', scripts)
    ) <= {"bar"}


def test_a_page_leaves_room_for_its_own_numbers():
    parts = ("page.css", "idea.css", "early.js", *html.SCRIPTS)
    own = sum(len(html.asset(name).encode()) for name in parts)
    assert own + len(deflated_asset(html.PLOTLY)) < 0.4 * html.MOST_BYTES
