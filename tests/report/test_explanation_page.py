import re
from dataclasses import replace

import pytest

from akgnn.explain.explanation import explain_node
from akgnn.report import html
from akgnn.report.explanation_page import explanation_page
from akgnn.runs.run import load_run
from explain_data import Smoothing, star

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
    assert text.count("<svg ") == 1
    assert "Its label is a, which the model doubts." in text
    assert "gradient times features" in text


def test_a_page_of_several_nodes_links_to_each(found, trained):
    page = explanation_page([found, found], trained, top=10)
    assert page.title == f"Why 2 nodes of {trained.plan.data_name} get their class"
    text = html.render(page)
    assert text.count("<svg ") == 2
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
