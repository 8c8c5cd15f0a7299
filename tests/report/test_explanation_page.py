import re
import shutil
from dataclasses import replace

import pytest

from akgnn.explain.explanation import explain_node
from akgnn.report import html
from akgnn.report.explanation_page import explanation_page
from akgnn.runs.load import load_run
from explain_data import Smoothing, star

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HOSTILE = "<img src=x onerror=alert(1)></script>"


@pytest.fixture(scope="module")
def found():
    return explain_node(Smoothing(), star(), 0)


@pytest.fixture(scope="module")
def trained(run):
    return load_run(run)


def test_a_page_of_one_node_is_named_for_it(found, trained):
    page = explanation_page([found], trained, top=10)
    assert page.title == "Why node 0 is b"
    text = html.render(page)
    assert "<h1>Why node 0 is b</h1>" in text
    assert text.count("panel why ") == 2
    assert "Its label is a, which the model doubts." in text
    assert "gradient times features" in text


def test_a_page_of_several_nodes_links_to_each(found, trained):
    page = explanation_page([found, found], trained, top=10)
    assert page.title == f"Why 2 nodes of {trained.plan.data_name} get their class"
    text = html.render(page)
    assert text.count("panel why ") == 4
    ids = re.findall(r'id="(node-\d+)"', text)
    assert ids == ["node-1", "node-2"]
    assert all(f'href="#{each}"' in text for each in ids)


def test_the_tables_have_every_neighbour_whatever_is_drawn(found, trained):
    text = html.render(explanation_page([found], trained, top=1))
    assert "others: together" in text
    for neighbour in found.neighbours:
        assert f'<th scope="row">{neighbour.facts.name}</th>' in text


def test_a_page_without_charts_is_light(found, trained):
    text = html.render(explanation_page([found], trained, top=10))
    assert len(text) < 100_000
    assert "plotly" not in text.lower()


def test_names_are_shown_and_not_executed(found, trained):
    facts = replace(found.facts, name=HOSTILE, label=HOSTILE)
    named = replace(found, facts=facts, predicted=replace(found.predicted, name=HOSTILE))
    text = html.render(explanation_page([named, named], trained, top=10))
    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;&lt;/script&gt;" in text
    assert "script-src &#39;sha256-" in text


@pytest.mark.parametrize("width", [390, 1280])
def test_in_a_browser_nothing_runs_or_leaves_the_page(found, trained, width, tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"none of the browsers {', '.join(BROWSERS)} is installed")
    facts = replace(found.facts, name=HOSTILE + "x" * 80, label=HOSTILE)
    named = replace(found, facts=facts, predicted=replace(found.predicted, name=HOSTILE))
    html.write(explanation_page([named], trained, top=10), tmp_path / "why.html")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        context = browser.new_context(offline=True, viewport={"width": width, "height": 800})
        page, trouble = context.new_page(), []
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: (trouble.append("a dialog"), dialog.dismiss()))
        page.goto((tmp_path / "why.html").as_uri())
        page.click("summary")
        drawn = page.eval_on_selector_all(
            ".why svg", "all => all.map((one) => one.checkVisibility())"
        )
        wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        browser.close()
    assert trouble == []
    assert drawn == [width > 500, width < 500]
    assert wider <= 0
