import numpy as np
import pytest

from akgnn.errors import SettingsError
from akgnn.estimator.arguments import RowSettings, decide_settings, plain_arguments
from akgnn.estimator.classifier import AKGNNClassifier


def test_the_defaults_are_the_constructors():
    assert RowSettings(**plain_arguments(AKGNNClassifier(), RowSettings.names())) == RowSettings()


def test_a_start_stays_with_its_kernel():
    def start(**arguments):
        preset = decide_settings(AKGNNClassifier(**arguments), has_graph=False)
        return preset.to_dict()["model"]["kernel_start"]

    assert start() == start(kernel="signed") == 0.1
    assert start(kernel="paper") is None
    assert start(kernel="paper", settings={"kernel_start": 3.0}) == 3.0


def test_numbers_out_of_arrays_are_numbers():
    estimator = AKGNNClassifier(epochs=np.int64(3), settings={"temperature": np.float32(0.5)})
    estimator.settings |= {"strategy": "consistency"}
    settings = decide_settings(estimator, has_graph=True).to_dict()
    assert type(settings["training"]["epochs"]) is int
    assert settings["strategy"]["temperature"] == 0.5


def test_neighbours_one_way_need_the_row_form():
    estimator = AKGNNClassifier(settings={"normalisation": "directed"})
    assert decide_settings(estimator, has_graph=True)
    with pytest.raises(SettingsError, match="needs normalisation='row', got 'directed'"):
        decide_settings(estimator, has_graph=False)
