import pytest

from akgnn.models.registry import MODELS
from akgnn.training.strategies.registry import STRATEGIES


@pytest.mark.parametrize("name", MODELS)
def test_the_strategy_of_every_model_exists(name):
    assert MODELS[name].strategy in STRATEGIES


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_is_built_from_its_settings(name):
    entry = STRATEGIES[name]
    settings = entry.settings()
    assert entry.build(settings).settings is settings
