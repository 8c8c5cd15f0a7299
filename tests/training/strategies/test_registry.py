import pytest

from akgnn.errors import UnknownNameError
from akgnn.models.registry import MODELS
from akgnn.training.strategies.registry import STRATEGIES, StrategyChoice


@pytest.mark.parametrize("name", MODELS)
def test_the_strategy_of_every_model_exists(name):
    assert MODELS[name].strategy in STRATEGIES


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_is_built_from_its_settings(name):
    entry = STRATEGIES[name]
    settings = entry.settings()
    assert entry.build(settings).settings is settings


def test_another_strategy_starts_from_its_own_defaults():
    choice = StrategyChoice.of("consistency").updated({"passes": "2"})
    assert choice.to_dict() == {
        "strategy": "consistency",
        "passes": 2,
        "temperature": 0.5,
        "weight": 1.0,
        "warm_up": 0,
        "distance": "squared",
        "confidence": 0.0,
        "phi_sees_masks": True,
    }
    # Named again, it stays as it is.
    assert choice.updated({"strategy": "consistency"}) == choice
    other = choice.updated({"strategy": "drop-edge", "keep": 0.7})
    assert other.to_dict() == {"strategy": "drop-edge", "keep": 0.7}
    with pytest.raises(UnknownNameError, match="Unknown setting 'passes'"):
        choice.updated({"strategy": "drop-edge", "passes": 2})


def test_an_unknown_strategy_is_answered_with_a_guess():
    with pytest.raises(UnknownNameError, match=r"Unknown strategy.*Did you mean 'consistency'"):
        StrategyChoice.of("consistent")
