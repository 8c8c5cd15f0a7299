import struct
import sys

import pytest

from akgnn.errors import MissingExtraError, RunFolderError, SettingsError
from akgnn.explain.explanation import explain_node
from akgnn.explain.neighbourhood import Fan
from akgnn.report import explanation_file
from akgnn.report.explanation_file import check_explanation_file, png, write_explanations
from akgnn.runs.load import load_run
from akgnn.svg import drawing
from explain_data import Smoothing, star


@pytest.fixture(scope="module")
def found():
    return [explain_node(Smoothing(), star(), node) for node in (0, 1)]


def test_the_ending_says_what_is_written(found, run, tmp_path):
    for name, start in (("a.svg", b"<svg "), ("a.html", b"<!doctype html>")):
        check_explanation_file(tmp_path / name)
        write_explanations(found, load_run(run), tmp_path / name, top=5)
        assert (tmp_path / name).read_bytes().startswith(start)


def test_a_png_has_two_pixels_a_unit(found, run, tmp_path):
    pytest.importorskip("resvg_py", reason="resvg-py is not installed")
    out = tmp_path / "a.png"
    check_explanation_file(out)
    write_explanations(found, load_run(run), out, top=5)
    content = out.read_bytes()
    assert content.startswith(b"\x89PNG")
    width, _ = struct.unpack(">II", content[16:24])
    assert width == 2 * Fan.width
    # The largest pictures would not fit into memory so.
    most = drawing(1000, 20_000, "", "", [])
    assert struct.unpack(">II", png(most)[16:24]) == (1000, 20_000)


@pytest.mark.parametrize("name", ["why.pdf", "why", ".svg", "why.svg.gz"])
def test_other_endings_are_refused_with_those_there_are(name, tmp_path):
    with pytest.raises(SettingsError, match=r"A picture ends in \.svg, \.png or \.html"):
        check_explanation_file(tmp_path / name)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RunFolderError, match="there is no folder"):
        check_explanation_file(tmp_path / "no" / "why.svg")


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    monkeypatch.setattr(explanation_file, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"A PNG needs .* 'akgnn\[report\]'"):
        check_explanation_file(tmp_path / "why.png")


def test_a_machine_without_fonts_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(explanation_file, "find_spec", lambda name: "there")
    monkeypatch.setattr(explanation_file, "png", lambda svg: b"no text")
    with pytest.raises(SettingsError, match="A PNG needs a font"):
        check_explanation_file(tmp_path / "why.png")
