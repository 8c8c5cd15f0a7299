import pytest

from akgnn.cli.main import main
from akgnn.data.catalogue import load_dataset
from written_tables import write_tables


def test_a_file_is_written_that_train_accepts(tmp_path, capsys):
    file = tmp_path / "settings.toml"
    data = load_dataset("csbm:num_nodes=80,homophily=0.9,num_features=6")
    write_tables(data, tmp_path)
    assert main(["init", str(file), "--label", "label"]) == 0
    assert f"akgnn train --config {file}" in capsys.readouterr().out
    text = file.read_text().replace("# epochs = 2000", "epochs = 5")
    file.write_text(text.replace('# columns = "*"', 'columns = "feature_*"'))
    assert main(["train", "--config", str(file), "--set", "hidden_channels=4"]) == 0
    out = capsys.readouterr().out
    assert "nodes: 80 nodes" in out
    assert "of 5 epochs" in out


def test_a_data_set_may_stand_instead_of_tables(tmp_path, capsys):
    file = tmp_path / "a.toml"
    assert main(["init", str(file), "--dataset", "csbm:num_nodes=60", "--model", "sgc"]) == 0
    assert "[tables]" not in file.read_text()
    assert main(["train", "--config", str(file), "--set", "epochs=3"]) == 0
    assert "sgc (paper)" in capsys.readouterr().out


def test_options_go_over_the_file(tmp_path, capsys):
    file = tmp_path / "a.toml"
    file.write_text('[run]\ndataset = "csbm:num_nodes=60"\nseed = 3\n[training]\nepochs = 9\n')
    assert main(["train", "--config", str(file), "--seed", "5", "--set", "epochs=4"]) == 0
    out = capsys.readouterr().out
    assert "seed 5" in out
    assert "of 4 epochs" in out


def test_a_file_that_is_there_is_not_lost(tmp_path, capsys):
    file = tmp_path / "a.toml"
    file.write_text("mine")
    assert main(["init", str(file)]) == 2
    assert "--force writes over it" in capsys.readouterr().err
    assert file.read_text() == "mine"
    assert main(["init", str(file), "--force"]) == 0
    assert file.read_text() != "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "agknn"], "Did you mean 'akgnn'"),
        (["--preset", "papre"], "Unknown preset"),
        (["--dataset", "coar"], "Did you mean 'cora'"),
        (["no/such/folder/a.toml"], "Cannot write"),
    ],
)
def test_wrong_options_write_nothing(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["init", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
