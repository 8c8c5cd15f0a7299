import pytest

from akgnn.data.catalogue import dataset_names
from akgnn.errors import SettingsError, SpecError
from akgnn.models.registry import MODELS
from akgnn.runs.presets import default_settings, list_presets, load_preset
from akgnn.tuning.space import Dimension, load_space, rounded, settings_of, space_of, tried_preset

optuna = pytest.importorskip("optuna")


def values_of(dimension):
    if dimension.choices:
        return dimension.choices
    return (dimension.low, dimension.high)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_declares_a_space_of_its_own_settings(model):
    space, preset = load_space(model), default_settings(model)
    known = settings_of(preset)
    assert {"learning_rate", "weight_decay"} <= {each.name for each in space}
    for each in space:
        assert each.name in known
        for value in values_of(each):
            # Refused where the setting does not take it.
            preset.updated({each.name: value})
            assert each.holds(value)


@pytest.mark.parametrize("model", MODELS)
def test_the_published_settings_lie_inside_the_space(model):
    for dataset in dataset_names():
        known = settings_of(load_preset(model, "paper", dataset))
        outside = [each.name for each in load_space(model) if not each.holds(known[each.name])]
        # A start without any penalty is not among powers.
        assert outside in ([], ["weight_decay"]), (dataset, outside)


@pytest.mark.parametrize("model", MODELS)
def test_a_space_is_no_preset(model):
    assert "search" not in list_presets(model)


@pytest.mark.parametrize("model", MODELS)
def test_whatever_is_drawn_can_be_trained(model):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    space, preset = load_space(model), default_settings(model)
    for _ in range(20):
        trial = study.ask()
        values = {each.name: each.suggest(trial) for each in space}
        assert all(each.holds(values[each.name]) for each in space)
        known = settings_of(preset.updated(values))
        assert {name: known[name] for name in values} == values


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"low": 1},
        {"low": 1, "high": 2.0},
        {"low": "a", "high": "b"},
        {"low": 1, "high": 2, "log": "yes"},
        {"low": 1, "high": 2, "step": 1},
        {"choices": []},
        {"choices": 3},
        {"choices": [1], "low": 0},
    ],
)
def test_a_space_that_is_none_is_refused(table):
    with pytest.raises(SpecError, match="The search space of dropout must have low and high"):
        Dimension.read("dropout", table)


@pytest.mark.parametrize(
    "table", [{"low": 2, "high": 1}, {"low": 0.0, "high": 1.0, "log": True}, {"low": 1, "high": 1}]
)
def test_a_range_without_values_is_refused(table):
    with pytest.raises(SpecError, match="has no values"):
        Dimension.read("dropout", table)


def test_what_a_range_holds():
    whole, number = Dimension("a", 1, 4), Dimension("b", 0.5, 1.0)
    choice = Dimension("c", choices=(1, "x", True))
    assert [whole.holds(value) for value in (1, 4, 5, 2.0, "2", True)] == [
        True, True, False, False, False, False,
    ]  # fmt: skip
    assert [number.holds(value) for value in (0.5, 1.0, 1, None)] == [True, True, False, False]
    assert [choice.holds(value) for value in (1, "x", 2, 1.0)] == [True, True, False, False]


def test_three_digits_are_enough():
    assert rounded(0.0123456) == 0.0123
    assert rounded(7) == 7
    assert rounded("sum") == "sum"
    assert rounded(True) is True


def test_fixed_settings_and_those_of_other_strategies_are_not_searched():
    preset = default_settings("dropedge")
    names = [each.name for each in space_of("dropedge", preset, {"dropout": 0.1})]
    assert "keep" in names
    assert "dropout" not in names
    plain = preset.updated({"strategy": "supervised"})
    assert "keep" not in [each.name for each in space_of("dropedge", plain, {})]


def test_something_has_to_be_left():
    fixed = {each.name: 1 for each in load_space("sgc")}
    with pytest.raises(SettingsError, match=r"Nothing is left to search: .* of sgc is fixed"):
        space_of("sgc", default_settings("sgc"), fixed)


def test_a_start_belongs_to_its_kernel():
    preset = load_preset("akgnn", "nearest-neighbours", "")
    start = settings_of(preset)["kernel_start"]
    same = tried_preset(preset, {"kernel": "signed", "num_layers": 2})
    assert settings_of(same)["kernel_start"] == start is not None
    assert settings_of(tried_preset(preset, {"kernel": "paper"}))["kernel_start"] is None
    assert tried_preset(default_settings("gcn"), {}) == default_settings("gcn")


@pytest.mark.parametrize("model", MODELS)
def test_nothing_without_effect_is_searched(model):
    for name in list_presets(model):
        preset = load_preset(model, name, "")
        known = {name for kind in preset.in_effect().values() for name in kind}
        assert {each.name for each in space_of(model, preset, {})} <= known
    if model == "akgnn":
        searched = {each.name for each in space_of(model, load_preset(model, "deep", ""), {})}
        assert "transform_dropout" not in searched
