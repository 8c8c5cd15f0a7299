import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight

from akgnn.data.catalogue import load_dataset
from akgnn.data.splits import Split
from akgnn.errors import SettingsError
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.training.fit import fit
from akgnn.training.settings import TrainSettings
from akgnn.training.strategies.supervised import (
    balanced_weight,
    cross_entropy,
    training_loss,
    with_class_weight,
)

DATA = load_dataset("csbm:num_nodes=300,homophily=0.6,signal=2")


def unbalanced():
    """Few training nodes of class 0, many of the others."""
    split, y = DATA.split, DATA.y
    labelled = torch.cat([split.train, split.test])
    zeros, others = labelled[y[labelled] == 0], labelled[y[labelled] != 0]
    return DATA.with_split(
        Split("uneven", torch.cat([zeros[:2], others[:120]]), split.val, others[120:])
    )


def test_the_cross_entropy_of_replicas_is_that_of_each():
    logits, y = torch.randn(3, 10, 4), torch.arange(10) % 4
    expected = [torch.nn.functional.cross_entropy(each, y) for each in logits]
    torch.testing.assert_close(cross_entropy(logits, y), torch.stack(expected))
    assert torch.equal(cross_entropy(logits[1], y), expected[1])


def test_the_cross_entropy_weighs_classes_and_divides_by_nodes():
    logits, y, weight = torch.randn(2, 10, 3), torch.arange(10) % 3, torch.tensor([2.0, 0.0, 0.5])
    losses = -logits.log_softmax(2)[:, torch.arange(10), y] * weight[y]
    torch.testing.assert_close(cross_entropy(logits, y, weight), losses.mean(1))
    torch.testing.assert_close(cross_entropy(logits[0], y, weight), losses[0].mean())


def test_half_precision_is_averaged_in_float32():
    logits, y = torch.randn(1000, 3), torch.arange(1000) % 3
    loss = cross_entropy(logits.bfloat16(), y)
    assert loss.dtype == torch.float32
    assert torch.equal(loss, cross_entropy(logits.bfloat16().float(), y))


def test_the_training_loss_is_that_of_the_training_nodes():
    logits, data = torch.randn(2, 300, 4), with_class_weight(DATA, "balanced")
    nodes = DATA.split.train
    expected = cross_entropy(logits[:, nodes], DATA.y[nodes], data.class_weight)
    assert torch.equal(training_loss(logits, data), expected)
    elsewhere = logits.clone()
    elsewhere[:, torch.cat([DATA.split.val, DATA.split.test])] = 7.0
    assert torch.equal(training_loss(elsewhere, data), expected)


def test_the_weights_are_those_of_scikit_learn():
    y = torch.tensor([0, 0, 0, 1, 2, 2])
    expected = compute_class_weight("balanced", classes=np.arange(3), y=y.numpy())
    assert balanced_weight(y, 3).tolist() == pytest.approx(expected.tolist())


def test_weights_of_all_nodes_have_mean_one_even_where_a_class_is_absent():
    y = torch.tensor([0, 0, 0, 2])
    weight = balanced_weight(y, 4)
    assert weight.tolist() == pytest.approx([2 / 3, 0, 2, 0])
    assert float(weight[y].mean()) == pytest.approx(1)


def test_only_training_nodes_count():
    data = unbalanced()
    weighted = with_class_weight(data, "balanced")
    y = data.y[data.split.train]
    assert torch.equal(weighted.class_weight, balanced_weight(y, data.num_classes))
    assert with_class_weight(data, "none") is data
    assert with_class_weight(weighted, "balanced") is weighted


def test_a_rare_class_is_found_more_often_when_balanced():
    data = unbalanced()
    nodes = data.split.val[data.y[data.split.val] == 0]

    def found(kind):
        plan = RunPlan.make(RunSettings(model="mlp"))
        model = plan.build(data)
        fit(model, data, TrainSettings(epochs=60, patience=60, class_weight=kind))
        with torch.no_grad():
            return int((model(data.x, data.graph)[nodes].argmax(1) == 0).sum())

    assert found("balanced") > found("none")


def test_other_words_are_refused():
    with pytest.raises(SettingsError, match="class_weight must be one of none, balanced"):
        TrainSettings(class_weight="equal")


def test_a_record_from_before_there_were_weights_has_none():
    plan = RunPlan.make(RunSettings())
    settings = plan.to_dict()
    del settings["training"]["class_weight"]
    assert RunPlan.from_dict(settings) == plan
