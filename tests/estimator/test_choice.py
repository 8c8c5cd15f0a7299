import numpy as np
import pytest

from akgnn.errors import LeftOutWarning, SettingsError
from akgnn.estimator import classifier as module
from akgnn.estimator.classifier import AKGNNClassifier
from akgnn.runs.plan import FOR_ANY_GRAPH


@pytest.fixture
def choices(monkeypatch):
    """The choices that were made."""
    made, choose = [], module.choose

    def spy(plans, data):
        made.append(choose(plans, data))
        return made[-1]

    monkeypatch.setattr(module, "choose", spy)
    return made


def test_on_a_graph_validation_rows_choose_the_preset(table, graph, choices, tmp_path):
    x, y = table
    fitted = AKGNNClassifier(epochs=3, random_state=0).fit(x, y, graph=graph)
    (choice,) = choices
    assert [each.plan.run.preset for each in choice.tried] == list(FOR_ANY_GRAPH)
    assert fitted.preset_ == choice.chosen.plan.run.preset
    # The chosen one is what it would be by itself.
    alone = AKGNNClassifier(preset=fitted.preset_, epochs=3, random_state=0).fit(x, y, graph=graph)
    assert np.array_equal(fitted.predict_proba(x, graph), alone.predict_proba(x, graph))
    fitted.save(tmp_path / "kept")
    again = AKGNNClassifier.load(tmp_path / "kept")
    assert again.preset_ == fitted.preset_
    assert np.array_equal(again.predict_proba(x, graph), fitted.predict_proba(x, graph))


def test_without_a_graph_and_with_a_name_there_is_no_choice(table, graph, choices):
    x, y = table
    assert AKGNNClassifier(epochs=2).fit(x, y).preset_ == "nearest-neighbours"
    named = AKGNNClassifier(preset="deep", epochs=2).fit(x, y, graph=graph)
    assert named.preset_ == "deep"
    assert not choices


def test_rows_that_were_trained_on_do_not_choose(table, graph, choices):
    x, y = table
    fitted = AKGNNClassifier(epochs=2, validation_fraction=0.0).fit(x, y, graph=graph)
    assert fitted.preset_ == "any-graph"
    assert not choices


def test_what_no_preset_can_have_is_refused(table, graph):
    x, y = table
    with pytest.raises(SettingsError, match="num_layers must be"):
        AKGNNClassifier(num_layers=0).fit(x, y, graph=graph)


def test_presets_that_a_named_setting_does_not_fit_are_told(table, graph):
    x, y = table
    settings = {"transform_dropout": 0.3, "epochs": 2}
    with pytest.warns(LeftOutWarning, match="not fit: deep, deep-short, deep-middle, deep-long"):
        fitted = AKGNNClassifier(settings=settings, random_state=0).fit(x, y, graph=graph)
    assert fitted.preset_ == "any-graph"
    with pytest.raises(SettingsError, match=r"transform_dropout=0\.3 needs order"):
        AKGNNClassifier(preset="deep", settings=settings).fit(x, y, graph=graph)
    # The argument is for all places that drop something, which blocks have fewer of.
    AKGNNClassifier(preset="deep", dropout=0.1, epochs=2).fit(x, y, graph=graph)
