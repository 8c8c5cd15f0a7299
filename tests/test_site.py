"""The documentation: its examples run, its commands exist, and the site builds and stands alone.

Blocks of `python` and `sh` run one after the other, page by page, in an empty folder. Commands that
stand elsewhere, indented or in the text, have to be understood but are not run.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import typer

import akgnn
from akgnn.cli.main import app, main
from registries import registries_restored

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCKS = re.compile(r"^```(python|sh)\n(.*?)^```", flags=re.S | re.M)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
LINES = re.compile(r"^(?: {4})?(akgnn [a-z].*)$", flags=re.M)
IN_TEXT = re.compile(r"`(akgnn [a-z][^`]*)`")


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with registries_restored():
        yield tmp_path


def with_blocks(kind):
    return [page for page in PAGES if any(found == kind for found, _ in blocks_of(page))]


def blocks_of(page):
    return BLOCKS.findall(page.read_text(encoding="utf-8"))


def words(command):
    """A command without `akgnn` and comments."""
    return shlex.split(command, comments=True)[1:]


def run_command(command):
    arguments = words(command)
    # Training to the end would take most of the tests' time.
    few = ["--set", "epochs=3"] if arguments[0] == "train" else []
    assert main([*arguments, *few]) == 0, command


@pytest.mark.parametrize("page", with_blocks("python"), ids=lambda page: page.name)
def test_examples_run(page, empty_folder, monkeypatch, capsys):
    # Training to the end would take most of the tests' time.
    monkeypatch.setattr(akgnn, "train", partial(akgnn.train, settings={"epochs": 3}))
    names = {"__name__": "example"}
    for kind, text in blocks_of(page):
        if kind == "sh":
            for line in text.splitlines():
                run_command(line)
        else:
            text = re.sub(r'epochs(=|": )\d+', r"epochs\g<1>3", text)
            exec(compile(text, page.name, "exec"), names)
    assert capsys.readouterr().out


def test_every_block_of_commands_is_on_a_page_that_runs():
    assert set(with_blocks("sh")) <= set(with_blocks("python"))


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_every_command_is_understood(page):
    text = page.read_text(encoding="utf-8")
    for line in LINES.findall(text):
        name, *arguments = words(line)
        command_called(name).make_context(name, arguments)
    # In the text an option may stand without its value.
    for mention in IN_TEXT.findall(text):
        name, *arguments = words(mention)
        known = {option for each in command_called(name).params for option in each.opts}
        asked = {word for word in arguments if word.startswith("--")}
        assert asked <= known | {"--help"}, mention


def command_called(name):
    found = typer.main.get_command(app).get_command(None, name)
    assert found is not None, name
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lists_are_set_off_from_the_text_before_them(page):
    """Else the site runs them into one paragraph, which other readers of Markdown do not."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    for paragraph in re.split(r"\n\s*\n", prose):
        lines = [line for line in paragraph.splitlines() if line and not line.startswith("#")]
        starts = [bool(re.match(r"[-*] |\d+\. ", line)) for line in lines]
        assert starts[:1] == [True] or not any(starts), paragraph


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_has_every_page_and_asks_nobody_else_for_anything(site):
    pages = {file.stem for file in site.glob("*.html")}
    assert {page.stem for page in PAGES} <= pages
    for file in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = file.read_text(encoding="utf-8")
        asked = re.findall(r"(?:src=|<link[^>]+href=|url\()[\"']?(https?://[^\"')\s]+)", text)
        assert not asked, f"{file.name}: {asked}"


def test_every_public_name_is_in_the_reference(site):
    import akgnn

    text = (site / "api.html").read_text(encoding="utf-8")
    for name in set(akgnn.__all__) - {"__version__"}:
        assert re.search(rf'id="akgnn\.[\w.]+\.{name}"', text), name


def test_every_formula_is_typeset_when_the_site_is_built(site):
    text = (site / "paper-map.html").read_text(encoding="utf-8")
    for formula in ("H^{(0)} = σ(X W^*)", "H^{(k)} = A^*_k H^{(k-1)}", "φ_k"):
        assert f'<math alttext="{formula}"' in text
    for file in site.glob("*.html"):
        content = _without_code(file)
        assert "arithmatex" not in content, file.name
        assert not re.findall(r"\\[a-z]{3,}|\$\$", re.sub(r'alttext="[^"]*"', "", content)), (
            file.name
        )


def _without_code(file):
    """The page of a document, without code and scripts; the report is no document."""
    if file.name == "report.html":
        return ""
    text = file.read_text(encoding="utf-8")
    return re.sub(r"<(code|script|style)\b.*?</\1>", "", text, flags=re.S)


def test_every_column_of_every_table_has_a_head(site):
    for page in PAGES:
        text = (site / f"{page.stem}.html").read_text(encoding="utf-8")
        assert not re.findall(r"<th\b[^>]*>\s*</th>", text), page.name


def test_tables_can_be_scrolled_by_keyboard_and_have_names(site):
    text = (site / "kernels.html").read_text(encoding="utf-8")
    boxes = re.findall(r'<div class="table" role="region" tabindex="0" aria-label="([^"]+)">', text)
    assert len(boxes) == len(set(boxes)) == text.count("<table")


def test_the_page_of_results_is_part_of_the_site(site):
    assert 'href="report.html"' in (site / "reproduction.html").read_text(encoding="utf-8")
    assert (site / "report.html").read_bytes() == (ROOT / "results" / "report.html").read_bytes()


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_screen_shows_the_idea(page):
    file = ROOT / page
    first, _, _ = file.read_text(encoding="utf-8").partition("\n## ")
    shown = re.findall(r'(?:src|srcset)="([^"]+)"', first)
    assert [Path(name).name for name in shown] == ["idea-narrow.svg", "idea.svg"]
    assert all((file.parent / name).exists() for name in shown)
    assert re.search(r'alt="[^"]{100,}"', first)


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"none of the browsers {', '.join(BROWSERS)} is installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    """A page without a network, which must have had no trouble at the end."""
    context = browser.new_context(offline=True)
    page = context.new_page()
    trouble = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    yield page
    context.close()
    assert trouble == []


@pytest.mark.parametrize(
    ("words", "found"),
    [("softplus", "Kernels"), ("λ", "Questions and answers"), ("oversmoothing", "Seeing why")],
)
def test_search_works_in_a_page_opened_from_its_folder(site, page, words, found):
    page.goto((site / "index.html").as_uri())
    page.click(".md-search__input")
    page.keyboard.type(words)
    page.wait_for_selector(".md-search-result__item a")
    assert found in page.inner_text(".md-search-result__list")


def test_formulas_are_drawn_without_a_network(site, page):
    page.goto((site / "paper-map.html").as_uri())
    page.evaluate("document.fonts.ready")
    assert page.evaluate("document.fonts.check('16px Formula')")
    boxes = page.evaluate(
        "[...document.querySelectorAll('math')].map(e => e.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) > 30
    assert all(box["width"] > 3 and box["height"] > 3 for box in boxes)
    # A power stands to the right of its base and above it, which text in one line does not.
    base, power = page.evaluate(
        "[...document.querySelector('msup').children].map(e => e.getBoundingClientRect().toJSON())"
    )
    assert power["left"] >= base["left"] + base["width"] - 2
    assert power["top"] < base["top"]


@pytest.mark.parametrize("name", ["performance", "kernels", "reproduction", "paper-map"])
@pytest.mark.parametrize("width", [1440, 1000, 390])
def test_no_page_is_wider_than_its_window(site, page, name, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto((site / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
