import re
import xml.etree.ElementTree as ElementTree

import pytest
import torch

from akgnn.graph import Graph
from akgnn.report.idea import _LINKS, drawings
from akgnn.report.plots import idea_files

BY_SCALAR = {drawing.scalar: drawing for drawing in drawings()}


def shares(drawing):
    return [circle.share for circle in drawing.circles]


def test_four_scalars_are_drawn_on_one_graph_in_which_all_degrees_are_equal():
    assert list(BY_SCALAR) == ["λ = 1", "λ = 2", "λ = 6", "τ = −1"]
    ends = [end for link in _LINKS for end in link]
    assert {ends.count(node) for node in range(8)} == {3}


@pytest.mark.parametrize(("scalar", "self_loop"), [("λ = 1", 0), ("λ = 2", 1), ("λ = 6", 5)])
def test_shares_are_the_ringed_nodes_row_of_the_papers_kernel(scalar, self_loop):
    pairs = torch.tensor([*_LINKS, *((j, i) for i, j in _LINKS)]).T
    adjacency = torch.zeros(8, 8, dtype=torch.float64)
    adjacency[pairs[0], pairs[1]] = 1
    degree = adjacency.sum(1) + self_loop
    dense = (adjacency + self_loop * torch.eye(8)) / (degree[:, None] * degree[None]).sqrt()
    assert shares(BY_SCALAR[scalar]) == pytest.approx(dense[0].tolist(), abs=1e-6)
    assert Graph.from_edge_index(pairs, num_nodes=8).is_symmetric


@pytest.mark.parametrize("drawing", drawings(), ids=lambda drawing: drawing.scalar)
def test_sizes_of_shares_add_up_to_one(drawing):
    assert sum(map(abs, shares(drawing))) == pytest.approx(1, abs=1e-5)


def test_the_words_below_each_scalar_are_true():
    own = {scalar: drawing.circles[0].share for scalar, drawing in BY_SCALAR.items()}
    others = {
        scalar: {c.share for c in drawing.circles[1:] if c.is_heard}
        for scalar, drawing in BY_SCALAR.items()
    }
    assert own["λ = 1"] == 0
    assert others["λ = 2"] == {own["λ = 2"]}
    assert own["λ = 6"] > 0.5
    (subtracted,) = others["τ = −1"]
    assert subtracted < 0 < own["τ = −1"]


@pytest.mark.parametrize("name", ["idea.svg", "idea-narrow.svg"])
def test_a_file_stands_alone_and_says_what_it_shows(name):
    text = idea_files()[name]
    root = ElementTree.fromstring(text)
    width = int(root.get("width"))
    for number in re.findall(r"translate\((\d+) \d+\)", text):
        assert int(number) + 240 <= width
    assert "At τ = −1, neighbours subtracted: 50 per cent of the node itself and −17" in text
    assert "prefers-color-scheme: dark" in text
    assert not re.findall(r"(?:href|url|@import)", text.replace("http://www.w3.org", ""))
    assert text.count(">−17<") == 3
