import pytest

from akgnn.errors import SettingsError
from akgnn.training.metrics import METRICS
from akgnn.training.settings import TrainSettings


def test_defaults_are_the_papers():
    settings = TrainSettings()
    assert (settings.learning_rate, settings.weight_decay, settings.patience) == (0.01, 5e-4, 100)
    assert settings.stop_on == "loss"


@pytest.mark.parametrize(
    ("name", "value"),
    [("learning_rate", 0), ("weight_decay", -1), ("epochs", 0), ("patience", 0), ("stop_on", "f1")],
)
def test_wrong_values_are_refused(name, value):
    with pytest.raises(SettingsError, match=name):
        TrainSettings(**{name: value})


@pytest.mark.parametrize("stop_on", ["loss", "either", "both", *METRICS])
def test_every_metric_can_be_stopped_on(stop_on):
    assert TrainSettings(stop_on=stop_on).stop_on == stop_on


def test_a_slip_in_the_score_to_stop_on_is_answered_with_the_name():
    with pytest.raises(SettingsError, match=r"stop_on='acuracy' .* Did you mean 'accuracy'\?"):
        TrainSettings(stop_on="acuracy")
