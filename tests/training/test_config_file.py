import pytest

from akgnn.errors import SettingsError
from akgnn.training.config_file import read_config


@pytest.fixture
def read(tmp_path):
    def read(text):
        file = tmp_path / "settings.toml"
        file.write_text(text)
        return read_config(file)

    return read


def test_settings_are_read_by_kind(read, tmp_path):
    config = read(
        '[run]\nmodel = "gcn"\nseed = 3\n[tables]\nnodes = "a/n.csv"\nedges = "/e.csv"\n'
        "[model]\nhidden_channels = 4\n[training]\nepochs = 7\n"
    )
    assert config.run == {"model": "gcn", "seed": 3}
    assert config.tables == {"nodes": str(tmp_path / "a/n.csv"), "edges": "/e.csv"}
    assert config.preset["model"] == {"hidden_channels": 4}
    assert config.preset["training"] == {"epochs": 7}


def test_an_empty_file_says_nothing(read):
    config = read("")
    assert not config.run
    assert not config.tables


def test_a_strategy_brings_its_own_settings(read):
    text = '[strategy]\nstrategy = "consistency"\ntemperature = 0.3\n'
    assert read(text).preset["strategy"] == {"strategy": "consistency", "temperature": 0.3}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[run]\n\nsede = 3\n", 3, "Unknown setting 'sede'"),
        ('[run]\nmodel = "agknn"\n', 2, "Did you mean 'akgnn'"),
        ('[run]\nseed = "three"\n', 2, "seed must be a whole number"),
        ("[modle]\nnum_layers = 3\n", 1, "Unknown table 'modle'"),
        ("model = 3\n", 1, "as a table"),
        ("# layers\n[model]\n# more\nnum_layers = 0\n", 4, "num_layers must be from 1"),
        ("[model]\nnum_layers = [1, 2]\n", 2, "num_layers must be a whole number"),
        ("[training]\nlearning_rate = -1\n", 2, "learning_rate must be above 0"),
        ('[training]\nstop_on = "los"\n', 2, "stop_on must be one of"),
        ('[tables]\nmissing = "guess"\n', 2, "missing must be one of"),
        ("[tables]\nnodes = 3\n", 2, "nodes must be text"),
        ("[strategy]\ntemperature = 0.3\n", 2, "Unknown setting 'temperature'"),
        ('[strategy]\nstrategy = "none"\n', 2, "Unknown strategy 'none'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(read, text, line, message):
    with pytest.raises(SettingsError, match=rf"settings\.toml, line {line}: .*{message}"):
        read(text)


@pytest.mark.parametrize("text", ["[run", "seed = ", "a = 1\na = 2\n", "[run]\n[run]\n"])
def test_what_is_no_toml_is_refused(read, text):
    with pytest.raises(SettingsError, match="is no TOML"):
        read(text)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        read_config(tmp_path / "none.toml")
    with pytest.raises(SettingsError, match="cannot be read"):
        read_config(tmp_path)
    binary = tmp_path / "b.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="not UTF-8"):
        read_config(binary)
    binary.write_bytes(b"#" * 2_000_000)
    with pytest.raises(SettingsError, match="too large"):
        read_config(binary)
