import numpy as np
import pytest

from akgnn.errors import LeftOutWarning, SettingsError
from akgnn.estimator.arguments import (
    RowSettings,
    class_weights,
    decide_settings,
    plain_arguments,
)
from akgnn.estimator.classifier import AKGNNClassifier


def test_the_defaults_are_the_constructors():
    assert RowSettings(**plain_arguments(AKGNNClassifier(), RowSettings.names())) == RowSettings()


def test_a_start_stays_with_its_kernel():
    def start(**arguments):
        (preset,) = decide_settings(AKGNNClassifier(**arguments), has_graph=False).values()
        return preset.to_dict()["model"]["kernel_start"]

    assert start() == start(kernel="signed") == 0.1
    assert start(kernel="paper") is None
    assert start(kernel="paper", settings={"kernel_start": 3.0}) == 3.0


def test_numbers_out_of_arrays_are_numbers():
    estimator = AKGNNClassifier(epochs=np.int64(3), settings={"temperature": np.float32(0.5)})
    estimator.settings |= {"strategy": "consistency"}
    settings = decide_settings(estimator, has_graph=True)["any-graph"].to_dict()
    assert type(settings["training"]["epochs"]) is int
    assert settings["strategy"]["temperature"] == 0.5


def test_on_a_graph_there_is_a_choice_of_what_goes_with_the_arguments():
    def names(**arguments):
        return list(decide_settings(AKGNNClassifier(**arguments), has_graph=True))

    assert names() == ["any-graph", "deep", "deep-short", "deep-middle", "deep-long"]
    assert names(preset="deep") == ["deep"]
    # Groups of 16 do not share out 40 channels, and blocks have no shared transform.
    assert names(hidden_channels=40) == ["any-graph"]
    with pytest.warns(LeftOutWarning, match="Not compared.*deep-long"):
        assert names(settings={"share_weights": False}) == ["any-graph"]
    with pytest.raises(SettingsError, match="num_layers"):
        names(num_layers=0)


def test_neighbours_one_way_need_the_row_form():
    estimator = AKGNNClassifier(settings={"normalisation": "directed"})
    assert decide_settings(estimator, has_graph=True)
    with pytest.raises(SettingsError, match="needs normalisation='row', got 'directed'"):
        decide_settings(estimator, has_graph=False)


def test_weights_of_classes_are_a_setting_or_numbers():
    def weighted(weight):
        estimator = AKGNNClassifier(class_weight=weight)
        preset = decide_settings(estimator, has_graph=True)["any-graph"]
        return preset.training.class_weight, class_weights(estimator, ["a", "b"])

    assert weighted(None) == ("none", None)
    assert weighted("balanced") == ("balanced", None)
    setting, numbers = weighted({"b": np.float64(0.5)})
    assert setting == "none"
    assert numbers.tolist() == [1, 0.5]


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ({3: 1.0}, r"a weight for 3, which is no class; y holds 0, 1"),
        ({0: -1.0}, "the weight of 0 must be a number from 0 to 1e\\+09, got -1.0"),
        ({0: "heavy"}, "got 'heavy'"),
        ({0: float("nan")}, "got nan"),
        ({0: 0, 1: 0}, "0 for every class"),
    ],
)
def test_wrong_weights_of_classes_are_refused(weight, words):
    with pytest.raises(SettingsError, match=words):
        class_weights(AKGNNClassifier(class_weight=weight), [0, 1])


@pytest.mark.parametrize("weight", ["heavy", 3, [1, 2]])
def test_other_weights_of_classes_are_refused(weight):
    with pytest.raises(SettingsError, match="class_weight must be one of none, balanced, got"):
        decide_settings(AKGNNClassifier(class_weight=weight), has_graph=True)
