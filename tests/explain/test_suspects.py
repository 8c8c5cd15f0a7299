from dataclasses import replace

import torch

from akgnn.data.catalogue import load_dataset
from akgnn.explain.suspects import suspects
from explain_data import star


def test_held_out_labels_come_before_those_that_were_learned_from():
    # All labels of class a (0, 2, 5) are doubted, the training node's most.
    probability = torch.tensor([[0.3, 0.7], [0.0, 1], [0.1, 0.9], [0, 1], [0, 1], [0.2, 0.8]])
    found = suspects(probability, star())
    assert [(suspect.node, suspect.role) for suspect in found] == [
        (5, "none"),
        (0, "test"),
        (2, "training"),
    ]
    doubted = found[1]
    assert (doubted.label, doubted.predicted) == ("a", "b")
    assert abs(doubted.probability - 0.3) < 1e-6 > abs(doubted.predicted_probability - 0.7)


def test_neighbours_with_a_known_label_are_counted():
    probability = torch.tensor([[0.3, 0.7]]).repeat(6, 1)
    first = next(suspect for suspect in suspects(probability, star()) if suspect.node == 0)
    # Nodes 1 (b), 2 (a) and 3, whose label is not known.
    assert (first.num_neighbours, first.neighbours_agree, first.neighbours_predicted) == (2, 1, 1)


def test_nodes_without_a_label_and_labels_that_are_believed_are_no_suspects():
    probability = torch.tensor([[1.0, 0], [0, 1], [1, 0], [0.5, 0.5], [0, 1], [1, 0]])
    assert suspects(probability, star()) == []


def test_only_so_many_of_each_part():
    probability = torch.tensor([[0.3, 0.7]]).repeat(6, 1)
    found = suspects(probability, star(), top=1)
    assert [suspect.role for suspect in found] == ["test", "training"]


def test_ties_are_ordered_by_how_sure_the_model_is_of_another_class():
    probability = torch.tensor([[0.0, 0.6, 0.4]]).repeat(6, 1)
    probability[5] = torch.tensor([0.0, 0.9, 0.1])
    data = star()
    # Of a published split, class c need not have a training node.
    split = replace(data.split, is_published=True)
    data = replace(data, split=split, class_names=("a", "b", "c"))
    assert suspects(probability, data)[0].node == 5


def test_flipped_labels_are_found():
    data = load_dataset("csbm:num_nodes=200,homophily=0.9")
    y = data.y.clone()
    wrong = data.split.test[:5]
    y[wrong] = (y[wrong] + 1) % data.num_classes
    truth = torch.full((200, data.num_classes), 0.01)
    truth[torch.arange(200), data.y] = 0.97
    assert {suspect.node for suspect in suspects(truth, replace(data, y=y))} == set(wrong.tolist())
