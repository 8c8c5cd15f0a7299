"""What pages weigh: each of them keeps to `MOST_BYTES`."""

from pathlib import Path

import numpy as np
import pytest

import akgnn
from akgnn.errors import DataError
from akgnn.report import atlas as atlas_module
from akgnn.report import html
from akgnn.report.experiments_page import experiments_page
from akgnn.report.run_page import run_page
from akgnn.report.tuning_page import tuning_page
from report_data import some_search

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def anywhere(monkeypatch):
    """Nodes are put anywhere on their map, which weighs the same and takes no time."""
    random = np.random.default_rng(0)
    monkeypatch.setattr(
        atlas_module, "layout_of", lambda x, _: random.random((len(x), 2), dtype=np.float32)
    )


def page_of(dataset, tmp_path, *, epochs=2, **options):
    settings = {"epochs": epochs}
    try:
        akgnn.train(dataset, out=tmp_path / "run", settings=settings, device="cpu", **options)
    except DataError as error:
        pytest.skip(str(error))
    return run_page(tmp_path / "run")


def weight(page):
    return len(html.render(page).encode())


@pytest.mark.parametrize("preset", ["paper", "any-graph"])
def test_runs_on_cora_keep_to_the_budget_with_their_sliders(tmp_path, preset):
    page = page_of("cora", tmp_path, preset=preset)
    assert not page.shown["atlas"].why_fixed
    assert weight(page) < 0.75 * html.MOST_BYTES


def test_runs_on_pubmed_keep_to_the_budget_with_their_sliders(tmp_path):
    page = page_of("pubmed", tmp_path)
    assert not page.shown["atlas"].why_fixed
    assert weight(page) < 0.75 * html.MOST_BYTES


def test_ensembles_keep_to_the_budget(tmp_path):
    page = page_of("csbm:num_nodes=2000", tmp_path, ensemble=10)
    assert weight(page) < html.MOST_BYTES


def test_models_that_are_too_wide_for_their_graph_give_up_the_sliders(tmp_path):
    page = page_of("csbm:num_nodes=12000", tmp_path, preset="any-graph", epochs=1)
    atlas = page.shown["atlas"]
    assert atlas.num_nodes == 12000
    assert "more than 1.7 MB" in atlas.why_fixed
    assert weight(page) < html.MOST_BYTES


def test_many_classes_have_their_commonest_mistakes_and_no_matrix(tmp_path):
    page = page_of("csbm:num_nodes=3000,num_classes=150", tmp_path)
    text = html.render(page)
    assert len(text.encode()) < html.MOST_BYTES
    assert page.shown["atlas"].num_nodes == 3000
    assert "Confusion matrix" not in text
    assert "The 40 commonest mistakes" in text


def test_large_graphs_keep_to_the_budget(tmp_path, monkeypatch):
    monkeypatch.setattr(atlas_module, "MOST_NODES", 1000)
    page = page_of("csbm:num_nodes=8000", tmp_path)
    assert page.shown["atlas"].num_nodes <= 5000
    assert weight(page) < html.MOST_BYTES


def test_pages_of_experiments_and_searches_keep_to_the_budget(results, spec_files):
    assert weight(experiments_page(results, spec_files)) < html.MOST_BYTES
    assert weight(tuning_page(some_search(), "akgnn train")) < html.MOST_BYTES


def test_the_page_of_our_own_records_keeps_to_the_budget():
    assert (ROOT / "results" / "report.html").stat().st_size < html.MOST_BYTES
