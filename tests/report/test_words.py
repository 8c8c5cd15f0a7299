import math

import pytest

from akgnn.data.homophily import Homophily
from akgnn.report.words import (
    FEWEST_EDGES,
    IGNORED_BELOW,
    MOSTLY_ABOVE,
    deed,
    homophily_words,
    words_of,
)
from akgnn.training.kernel_places import Place

LAYERS = [Place(layer) for layer in range(1, 6)]
AGREE, DIFFER, UNCLEAR = (Homophily(share, 0.25, 312) for share in (0.81, 0.18, 0.24))


def said(shares, homophily=None, places=None, num_edges=1000):
    places = places or LAYERS[: len(shares)]
    return words_of(places, shares, homophily, num_edges=num_edges)


@pytest.mark.parametrize(
    ("share", "done"),
    [
        (-1.0, "mostly subtract"),
        (-MOSTLY_ABOVE, "partly subtract"),
        (-IGNORED_BELOW, "partly subtract"),
        (-0.049, "ignore"),
        (0.0, "ignore"),
        (0.049, "ignore"),
        (IGNORED_BELOW, "partly average"),
        (MOSTLY_ABOVE, "partly average"),
        (0.51, "mostly average"),
        (1.0, "mostly average"),
    ],
)
def test_what_a_share_means(share, done):
    assert deed(share) == done


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        (
            [-0.3, -0.4, 0, 0.01, -0.02],
            "Layers 1 and 2 partly subtract the neighbours; layers 3 to 5 ignore them.",
        ),
        ([0.9, 0.8, 0.7], "All 3 layers mostly average the neighbours."),
        ([-0.9, -0.8], "Both layers mostly subtract the neighbours."),
        ([0.2], "Layer 1 partly averages the neighbours."),
        (
            [0.2, 0, 0.3, 0.9, 0.4],
            "Layers 1, 3 and 5 partly average the neighbours; layer 2 ignores them; "
            "layer 4 mostly averages them.",
        ),
    ],
)
def test_layers_that_do_the_same_share_a_clause(shares, sentence):
    assert said(shares) == [sentence]


def test_in_and_out_neighbours_have_a_sentence_each():
    places = [Place(layer, way) for layer in (1, 2) for way in ("in", "out")]
    assert said([0.4, 0, 0.4, -0.3], places=places) == [
        "Both layers partly average the in-neighbours.",
        "Layer 1 ignores the out-neighbours; layer 2 partly subtracts them.",
    ]


def test_groups_that_differ_are_counted():
    places = [Place(layer, "", group) for layer in (1, 2) for group in (1, 2, 3)]
    assert said([0.9, 0.9, 0.9, 0, 0, -0.3], places=places) == [
        "Layer 1 mostly averages the neighbours.",
        "Of the 3 groups of layer 2, 1 partly subtracts the neighbours, 2 ignore them.",
    ]


@pytest.mark.parametrize(
    ("homophily", "sentence"),
    [
        (
            DIFFER,
            "Of 312 edges between training nodes 18 % join nodes of one class; 25 % would by "
            "chance: linked nodes tend to differ.",
        ),
        (
            AGREE,
            "Of 312 edges between training nodes 81 % join nodes of one class; 25 % would by "
            "chance: linked nodes tend to agree.",
        ),
        (
            UNCLEAR,
            "Of 312 edges between training nodes 24 % join nodes of one class; 25 % would by "
            "chance: too close to tell.",
        ),
        (
            Homophily(1.0, 0.25, FEWEST_EDGES - 1),
            "Only 19 edges join two training nodes: too few to tell whether linked nodes agree.",
        ),
        (
            Homophily(1.0, 0.25, 1),
            "Only 1 edge joins two training nodes: too few to tell whether linked nodes agree.",
        ),
        (
            Homophily(math.nan, math.nan, 0),
            "No edge joins two training nodes: nothing tells whether linked nodes agree.",
        ),
    ],
)
def test_homophily_is_told_with_what_chance_would_give(homophily, sentence):
    assert homophily_words(homophily) == sentence


def test_two_deviations_from_chance_are_needed():
    # With 300 edges and 25 % expected a deviation is 2.5 %.
    assert "too close" in homophily_words(Homophily(0.30, 0.25, 300))
    assert "tend to agree" in homophily_words(Homophily(0.301, 0.25, 300))
    assert "too close" in homophily_words(Homophily(1.0, 1.0, 300))


@pytest.mark.parametrize(
    ("shares", "homophily", "sentence"),
    [
        ([0.9, 0], DIFFER, "tend to differ, yet no layer subtracts neighbours."),
        ([-0.3, 0.9], AGREE, "tend to agree, yet layer 1 subtracts neighbours."),
        ([-0.3, -0.9], AGREE, "tend to agree, yet layers 1 and 2 subtract neighbours."),
        ([0, 0.01], AGREE, "tend to agree, yet no layer averages neighbours."),
    ],
)
def test_a_disagreement_is_said_without_a_cause(shares, homophily, sentence):
    words = said(shares, homophily)
    assert len(words) == 3
    assert words[2] == f"Linked training nodes {sentence}"


@pytest.mark.parametrize(
    ("shares", "homophily"),
    [([-0.3, 0.9], DIFFER), ([0.9, 0], AGREE), ([0, 0], UNCLEAR), ([0.9, -0.9], UNCLEAR)],
)
def test_where_both_fit_there_is_nothing_more_to_say(shares, homophily):
    assert len(said(shares, homophily)) == 2


def test_a_graph_without_edges_says_only_that():
    assert said([0.5], Homophily(math.nan, math.nan, 0), num_edges=0) == [
        "The graph has no edges: every kernel is the identity."
    ]


def test_no_kernels_no_words():
    assert words_of([], [], AGREE, num_edges=100) == []


def test_shares_that_are_not_known_leave_homophily():
    assert words_of(LAYERS, [], AGREE, num_edges=100) == [homophily_words(AGREE)]
