from dataclasses import replace

import pytest
import torch
from torch import nn

from akgnn.data.catalogue import load_dataset
from akgnn.errors import AkgnnError, DataError, SettingsError
from akgnn.models.akgnn import AKGNN
from akgnn.training.batched.fit_many import fit_many
from akgnn.training.fit import fit
from akgnn.training.settings import TrainSettings

DATA = load_dataset("csbm:num_nodes=60")
SETTINGS = TrainSettings(epochs=1)


def make(more_features=0, more_classes=0):
    return AKGNN(DATA.num_features + more_features, 4, DATA.num_classes + more_classes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": None}, r"A model must be a torch\.nn\.Module, such as AKGNN\(…\); got NoneType"),
        ({"model": AKGNN}, "A model must be .* got AKGNN"),
        ({"settings": {"epochs": 2}}, r"must be TrainSettings, .*; got dict"),
        ({"settings": {}}, "got dict"),
        ({"seed": "a"}, "A seed must be an integer, got 'a'"),
        ({"strategy": "consistency"}, "not its name; got str"),
        ({"resume": "run"}, "resumes from a Snapshot, got str"),
        ({"callbacks": print}, "callbacks must be a list, got builtin"),
        ({"callbacks": [print]}, "callbacks must be a list of Callback, got builtin"),
    ],
)
def test_what_is_not_of_its_kind_is_refused(change, words):
    arguments = {"model": make(), "data": DATA, "settings": SETTINGS, **change}
    with pytest.raises(SettingsError, match=words):
        fit(**arguments)


@pytest.mark.parametrize("data", [None, make(), DATA.graph])
def test_data_are_node_data(data):
    with pytest.raises(DataError, match="data must be NodeData, as load_dataset"):
        fit(make(), data, SETTINGS)
    with pytest.raises(DataError, match="data must be NodeData, as load_dataset"):
        fit_many([make()], data, SETTINGS, seeds=[0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"models": make()}, "models must be a list, got AKGNN"),
        ({"seeds": 0}, "seeds must be a list, got int"),
        ({"settings": {"epochs": 2}}, "got dict"),
    ],
)
def test_many_models_are_checked_too(change, words):
    arguments = {"models": [make()], "data": DATA, "settings": SETTINGS, "seeds": [0], **change}
    with pytest.raises(SettingsError, match=words):
        fit_many(**arguments)


def test_a_list_of_modules_is_a_list():
    assert len(fit_many(nn.ModuleList([make()]), DATA, SETTINGS, seeds=[0])) == 1


FEW = "gives 3 scores a node, but csbm has 4 classes; build it with out_channels=4"


@pytest.mark.parametrize(
    ("model", "data", "words"),
    [
        (make(more_features=1), DATA, r"shape \(nodes, 33\) for this layer, got \[60, 32\]"),
        (make(more_classes=-1), DATA, FEW),
        (make(), replace(DATA, x=DATA.x.double()), r"x is torch\.float64, but the weights"),
        (make().double(), DATA, r"x is torch\.float32, but the weights are torch\.float64"),
    ],
)
@pytest.mark.parametrize("number", [1, 2])
def test_a_model_that_does_not_fit_the_data_is_refused(model, data, words, number):
    with pytest.raises(DataError, match=words):
        fit(model, data, SETTINGS)
    with pytest.raises(DataError, match=words):
        fit_many([model] * number, data, SETTINGS, seeds=range(number))


def test_stacked_models_are_checked_too():
    models = [make(more_classes=-1), make(more_classes=-1)]
    with pytest.raises(DataError, match=FEW):
        fit_many(models, DATA, SETTINGS, seeds=[0, 1], at_once=2)


def test_nothing_stays_on_the_model():
    good, bad = make(), make(more_classes=-1)
    fit(good, DATA, SETTINGS)
    with pytest.raises(AkgnnError):
        fit(bad, DATA, SETTINGS)
    assert not good._forward_hooks
    assert not bad._forward_hooks


def test_more_outputs_than_classes_are_allowed():
    assert fit(make(more_classes=1), DATA, SETTINGS).epochs == 1


def test_double_data_in_a_double_model_are_trained():
    model = make().to(torch.float64)
    assert fit(model, replace(DATA, x=DATA.x.double()), SETTINGS).epochs == 1
