import math

import pytest

from akgnn.data.homophily import Homophily
from akgnn.explain.signals import EnergyShare, Signals
from akgnn.report.signal_words import FEWEST_NODES, signal_words

TRAIN, HOMOPHILY = Homophily(0.9, 0.2, 21), Homophily(0.81, 0.17, 5278)
SMOOTH, ROUGH, UNCLEAR = (EnergyShare(share, 0.4, 200) for share in (0.1, 0.6, 0.42))
NOTHING = EnergyShare(math.nan, math.nan, 0)


def said(labels=SMOOTH, features=UNCLEAR, smoothing=(0.3, 0.3), homophily=HOMOPHILY):
    return signal_words(Signals(TRAIN, homophily, labels, features), smoothing)


def test_homophily_labels_and_features_have_a_sentence_each():
    assert said()[:-1] == [
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
        (UNCLEAR, "edges say little about classes", "no more alike than others"),
        (EnergyShare(0.1, 0.4, FEWEST_NODES - 1), "too few nodes", "too few nodes"),
        (EnergyShare(0.361, 0.4, 200), "say little", "no more alike"),
        (EnergyShare(0.359, 0.4, 200), "are smooth", "like features"),
    ],
)
def test_what_shares_mean(energy, labels, features):
    words = said(energy, energy)
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
    assert said(labels, smoothing=smoothing)[-1].startswith(sentence)


@pytest.mark.parametrize(
    ("labels", "smoothing"), [(UNCLEAR, (0.3, 0.1)), (SMOOTH, (0.3, 0.31)), (ROUGH, (0.3, 0.3))]
)
def test_where_nobody_can_tell_there_is_no_verdict(labels, smoothing):
    assert said(labels, smoothing=smoothing)[-1].startswith("What enters the layers")


def test_without_kernels_training_nodes_come_first():
    first, *others = said(smoothing=())
    assert first.startswith("Of 21 edges between training nodes 90 % join nodes of one class;")
    assert others == said()[:-1]


def test_layers_one_by_one():
    assert said(UNCLEAR, smoothing=(0.3, 0.12, 0.1, 0.29))[-1] == (
        "What enters the layers has 30 % of its energy in high frequencies; after each of them it "
        "is 12, 10 and 29 %."
    )
    assert said(UNCLEAR, smoothing=(0.3, 0.12))[-1].endswith("; after the layer it is 12 %.")


def test_a_graph_without_edges_has_no_words():
    empty = Homophily(math.nan, math.nan, 0)
    assert said(NOTHING, NOTHING, (math.nan, math.nan), empty) == []


def test_what_is_not_known_is_left_out():
    words = said(NOTHING, SMOOTH, (0.2, math.nan), Homophily(math.nan, math.nan, 0))
    assert len(words) == 1
    assert words[0].startswith("Of the features' energy")


def test_one_edge_is_one():
    assert said(homophily=Homophily(1.0, 0.5, 1))[0].startswith("Over all labels, 100 % of 1 edge ")
