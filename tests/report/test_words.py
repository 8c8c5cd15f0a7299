import math

import pytest

from akgnn.data.node_data import Homophily
from akgnn.explain.insight import ReliabilityBin
from akgnn.explain.signals import EnergyShare, Signals
from akgnn.models.scalars import Position
from akgnn.report.words import (
    FEWEST_EDGES,
    FEWEST_NODES,
    IGNORED_BELOW,
    MOSTLY_ABOVE,
    deed,
    homophily_words,
    reliability_words,
    signal_words,
    words_of,
)

LAYERS = [Position(layer) for layer in range(1, 6)]
AGREE, DIFFER, UNCLEAR = (Homophily(share, 0.25, 312) for share in (0.81, 0.18, 0.24))


def said(shares, homophily=None, positions=None, num_edges=1000):
    positions = positions or LAYERS[: len(shares)]
    return words_of(positions, shares, homophily, num_edges=num_edges)


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
    positions = [Position(layer, direction) for layer in (1, 2) for direction in ("in", "out")]
    assert said([0.4, 0, 0.4, -0.3], positions=positions) == [
        "Both layers partly average the in-neighbours.",
        "Layer 1 ignores the out-neighbours; layer 2 partly subtracts them.",
    ]


def test_groups_that_differ_are_counted():
    positions = [Position(layer, "", group) for layer in (1, 2) for group in (1, 2, 3)]
    assert said([0.9, 0.9, 0.9, 0, 0, -0.3], positions=positions) == [
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


TRAIN, HOMOPHILY = Homophily(0.9, 0.2, 21), Homophily(0.81, 0.17, 5278)
SMOOTH, ROUGH, EVEN = (EnergyShare(share, 0.4, 200) for share in (0.1, 0.6, 0.42))
NOTHING = EnergyShare(math.nan, math.nan, 0)


def signals_said(labels=SMOOTH, features=EVEN, smoothing=(0.3, 0.3), homophily=HOMOPHILY):
    return signal_words(Signals(TRAIN, homophily, labels, features), smoothing)


def test_homophily_labels_and_features_have_a_sentence_each():
    assert signals_said()[:-1] == [
        "Over all labels, 81 % of 5278 edges join nodes of one class; 17 % would by chance.",
        "Of the labels' energy 10 % is in high frequencies; 40 % would be by chance: classes are "
        "smooth along edges, and averaging neighbours keeps what tells them apart.",
        "Of the features' energy 42 % is in high frequencies; 40 % would be by chance: linked "
        "nodes are no more alike than others.",
    ]


@pytest.mark.parametrize(
    ("energy", "labels", "features"),
    [
        (SMOOTH, "classes are smooth along edges", "linked nodes have like features"),
        (ROUGH, "classes are rough along edges", "linked nodes have unlike features"),
        (EVEN, "edges say little about classes", "no more alike than others"),
        (EnergyShare(0.1, 0.4, FEWEST_NODES - 1), "too few nodes", "too few nodes"),
        (EnergyShare(0.361, 0.4, 200), "say little", "no more alike"),
        (EnergyShare(0.359, 0.4, 200), "are smooth", "like features"),
    ],
)
def test_what_shares_mean(energy, labels, features):
    words = signals_said(energy, energy)
    assert labels in words[1]
    assert features in words[2]


@pytest.mark.parametrize(
    ("labels", "smoothing", "sentence"),
    [
        (SMOOTH, (0.3, 0.1), "The layers smooth, and classes are smooth along edges: the two fit."),
        (SMOOTH, (0.3, 0.6), "The layers sharpen differences, although classes are smooth"),
        (ROUGH, (0.3, 0.1), "The layers smooth, although classes are rough along edges."),
        (ROUGH, (0.3, 0.2, 0.6), "The layers sharpen differences, and classes are rough"),
    ],
)
def test_whether_the_layers_suit_the_labels(labels, smoothing, sentence):
    assert signals_said(labels, smoothing=smoothing)[-1].startswith(sentence)


@pytest.mark.parametrize(
    ("labels", "smoothing"), [(EVEN, (0.3, 0.1)), (SMOOTH, (0.3, 0.31)), (ROUGH, (0.3, 0.3))]
)
def test_where_nobody_can_tell_there_is_no_verdict(labels, smoothing):
    assert signals_said(labels, smoothing=smoothing)[-1].startswith("What enters the layers")


def test_without_kernels_training_nodes_come_first():
    first, *others = signals_said(smoothing=())
    assert first.startswith("Of 21 edges between training nodes 90 % join nodes of one class;")
    assert others == signals_said()[:-1]


def test_layers_one_by_one():
    assert signals_said(EVEN, smoothing=(0.3, 0.12, 0.1, 0.29))[-1] == (
        "What enters the layers has 30 % of its energy in high frequencies; after each of them it "
        "is 12, 10 and 29 %."
    )
    assert signals_said(EVEN, smoothing=(0.3, 0.12))[-1].endswith("; after the layer it is 12 %.")


def test_of_many_layers_the_first_the_smoothest_and_the_last_are_named():
    shares = (0.3, 0.12, 0.1, 0.09, 0.08, 0.02, 0.07, 0.06, 0.05, 0.04)
    assert signals_said(EVEN, smoothing=shares)[-1] == (
        "What enters the layers has 30 % of its energy in high frequencies; after layer 1 it is "
        "12 %, after layer 5 lowest with 2 %, and after the last 4 %."
    )


def test_a_graph_without_edges_has_no_words():
    empty = Homophily(math.nan, math.nan, 0)
    assert signals_said(NOTHING, NOTHING, (math.nan, math.nan), empty) == []


def test_what_is_not_known_is_left_out():
    words = signals_said(NOTHING, SMOOTH, (0.2, math.nan), Homophily(math.nan, math.nan, 0))
    assert len(words) == 1
    assert words[0].startswith("Of the features' energy")


def test_one_edge_is_one():
    assert signals_said(homophily=Homophily(1.0, 0.5, 1))[0].startswith(
        "Over all labels, 100 % of 1 edge "
    )


EMPTY = ReliabilityBin(0.0, 0.5, 0, math.nan, math.nan)


def bins(confidence, accuracy, count=10):
    return [EMPTY, ReliabilityBin(0.5, 1.0, count, confidence, accuracy)]


@pytest.mark.parametrize(
    ("confidence", "accuracy", "said"),
    [
        (70.0, 85.0, "it is less sure than it could be"),
        (95.0, 85.0, "it is surer than it should be"),
        (86.0, 85.0, "it is about as sure as it should be"),
    ],
)
def test_sure_and_right_in_words(confidence, accuracy, said):
    assert reliability_words(bins(confidence, accuracy)) == (
        f"On 10 test nodes the model is {confidence:.0f} % sure on average and right for 85 %: "
        f"{said}. Expected calibration error: {abs(accuracy - confidence):.1f} %."
    )


def test_means_are_over_nodes():
    pair = [ReliabilityBin(0, 0.5, 1, 40, 0), ReliabilityBin(0.5, 1, 3, 80, 100)]
    assert "is 70 % sure on average and right for 75 %" in reliability_words(pair)


def test_one_node_and_none():
    assert reliability_words(bins(90.0, 100.0, 1)).startswith("On 1 test node the model")
    assert reliability_words([EMPTY]).startswith("There are no test nodes")
