import json

from akgnn.cli.main import main


def test_models_are_listed(capsys):
    assert main(["models", "--json"]) == 0
    models = json.loads(capsys.readouterr().out)["models"]
    assert models[0]["name"] == "akgnn"
    assert models[0]["presets"] == ["paper", "authors-code"]
    assert main(["models"]) == 0
    assert "akgnn" in capsys.readouterr().out


def test_settings_of_a_model_stand_side_by_side(capsys):
    assert main(["models", "akgnn"]) == 0
    out = capsys.readouterr().out
    assert any(line.split() == ["readout", "sum", "concat"] for line in out.splitlines())
    assert main(["models", "akgnn", "--json"]) == 0
    presets = json.loads(capsys.readouterr().out)["presets"]
    assert presets["authors-code"]["learning_rate"] == 0.05


def test_an_unknown_model_is_answered(capsys):
    assert main(["models", "agknn"]) == 2
    assert "Did you mean 'akgnn'?" in capsys.readouterr().err
