from pathlib import Path

from akgnn.data.data_root import find_data_root


def test_the_folder_given_goes_before_all(monkeypatch):
    monkeypatch.setenv("AKGNN_DATA", "/elsewhere")
    assert find_data_root("here") == find_data_root(Path("here")) == Path("here")


def test_then_the_environment_then_the_cache(monkeypatch):
    monkeypatch.setenv("AKGNN_DATA", "/elsewhere")
    assert find_data_root() == Path("/elsewhere")
    cache = Path.home() / ".cache" / "akgnn"
    # An empty variable says nothing.
    monkeypatch.setenv("AKGNN_DATA", "")
    assert find_data_root() == cache
    monkeypatch.delenv("AKGNN_DATA")
    assert find_data_root() == cache
