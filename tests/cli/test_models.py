import json

from akgnn.cli.main import main
from akgnn.models.registry import MODELS


def test_models_are_listed(capsys):
    assert main(["models", "--json"]) == 0
    models = {model["name"]: model for model in json.loads(capsys.readouterr().out)["models"]}
    assert set(models) == set(MODELS)
    assert len(models) == 16
    names = ["paper", "searched", "authors-code", "akgnn-consistency", "any-graph"]
    names += ["deep", "deep-short", "deep-middle", "deep-long", "tuned", "hops"]
    names += ["mixed-columns", "mixed-columns-no-labels", "mixed-columns-deep"]
    names += ["nearest-neighbours"]
    assert models["akgnn"]["presets"] == names
    # W* and its bias, five φ, the classifier and its bias.
    assert models["akgnn"]["parameters"] == 1433 * 64 + 64 + 5 + 64 * 7 + 7
    assert models["gcn"]["parameters"] == 1433 * 16 + 16 + 16 * 7 + 7
    # The MLP, and the same with K + 1 weights γ.
    assert models["mlp"]["parameters"] == 1433 * 64 + 64 + 64 * 7 + 7
    assert models["gprgnn"]["parameters"] == models["mlp"]["parameters"] + 11
    assert main(["models"]) == 0
    assert "akgnn" in capsys.readouterr().out


def test_settings_of_a_model_stand_side_by_side(capsys):
    assert main(["models", "akgnn"]) == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    first = ["sum", "sum", "concat", "mean", "mean"]
    readouts = [*first, "sum", *["last"] * 4, "concat", "mean", "mean", "sum", "mean"]
    assert ["readout", *readouts] in lines
    labels = ["masked-labels", "supervised", "masked-labels"]
    strategies = [*["supervised"] * 3, "consistency", *["supervised"] * 7, *labels, "supervised"]
    assert ["strategy", *strategies] in lines
    # A setting that the strategies of the other presets do not have.
    assert ["passes", "-", "-", "-", "2", *["-"] * 11] in lines
    assert main(["models", "akgnn", "--json"]) == 0
    presets = json.loads(capsys.readouterr().out)["presets"]
    assert presets["authors-code"]["learning_rate"] == 0.05


def test_an_unknown_model_is_answered(capsys):
    assert main(["models", "agknn"]) == 2
    assert "Did you mean 'akgnn'?" in capsys.readouterr().err
