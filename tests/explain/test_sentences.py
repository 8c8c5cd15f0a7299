from dataclasses import replace

import pytest

from akgnn.explain.explanation import FarNode, Neighbour, explain_node
from akgnn.explain.nodes import NodeFacts
from akgnn.explain.sentences import (
    called,
    changed_class,
    class_of,
    class_sentences,
    distances,
    edge_words,
    far_shown,
    not_looked_at,
    together,
)
from explain_data import Smoothing, star


@pytest.fixture(scope="module")
def found():
    return explain_node(Smoothing(), star(), 0)


def test_the_class_is_told_with_the_label_and_without_edges(found):
    first, label, alone = class_sentences(found)
    assert first.startswith("Node 0 (test): b, ")
    assert label == "Its label is a, which the model doubts."
    assert alone == "Without its edges: a, 50.0 %."


def test_a_node_without_label_or_neighbours():
    unlabelled = class_sentences(explain_node(Smoothing(), star(), 3))
    assert unlabelled[0].startswith("Node 3: ")
    assert unlabelled[1] == "Its label is not known."
    alone = class_sentences(explain_node(Smoothing(), star(), 5))
    assert alone[2] == "It has no neighbours: its own features decide."


def test_a_class_is_known_from_its_training_label_alone():
    assert class_of(NodeFacts(0, "0", "training", "a", "b")) == ("a", "training label")
    assert class_of(NodeFacts(0, "0", "test", "a", "b")) == ("b", "prediction")


def test_a_class_whose_name_is_a_number_says_that_it_is_a_class():
    assert [called(name) for name in ("3", "3a", "Theory", "²")] == ["class 3", "3a", "Theory", "²"]


def test_a_class_that_would_change_is_named(found):
    first, *others = found.neighbours
    assert changed_class(first, found) == "a"
    assert {changed_class(other, found) for other in others} == {""}


@pytest.mark.parametrize(
    ("direction", "text"),
    [("", ""), ("from it", ", edge from it"), ("both ways", ", edges both ways")],
)
def test_edges_of_a_directed_graph_are_told(direction, text):
    facts = NodeFacts(0, "0", "none", None, "a")
    assert edge_words(Neighbour(facts, 0.5, "a", direction)) == text


def test_effects_are_added_up():
    facts = NodeFacts(0, "0", "none", None, "a")
    assert together([Neighbour(facts, 0.5, "a"), Neighbour(facts, -0.75, "a")]) == "−0.25"


def test_what_was_not_looked_at_is_told(found):
    assert not_looked_at(found) == ""
    hub = replace(found, num_neighbours=300)
    expected = "Of 300 neighbours, the 3 whose features count most were looked at."
    assert not_looked_at(hub) == expected


@pytest.mark.parametrize(
    ("values", "last"),
    [
        ((1.0,), ("own features", 1.0)),
        ((1.0, 2.0), ("1 edge away", 2.0)),
        (tuple(range(7)), ("6 edges away", 6)),
        (tuple(range(8)), ("7 edges away", 7)),
        (tuple(range(10)), ("7 to 9 edges away", 24)),
    ],
)
def test_far_distances_are_told_together(found, values, last):
    rows = distances(replace(found, by_distance=values))
    assert rows[-1] == last
    assert sum(value for _, value in rows) == sum(values)
    assert len(rows) <= 8


def test_far_nodes_that_show_as_nothing_are_left_out(found):
    facts = NodeFacts(4, "4", "none", None, "a")
    far = tuple(FarNode(facts, 2, effect) for effect in (0.1, -0.0005, 0.0004))
    assert [each.effect for each in far_shown(replace(found, far=far), 9)] == [0.1, -0.0005]
    assert len(far_shown(replace(found, far=far), 1)) == 1
