import pytest

from akgnn.errors import RunFolderError
from akgnn.training.atomic_write import atomic_write


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path):
    file = tmp_path / "run.json"
    atomic_write(file, b"old")
    atomic_write(file, b"new")
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


def test_what_cannot_be_written_is_named(tmp_path):
    with pytest.raises(RunFolderError, match=r"Cannot write .*missing/run\.json"):
        atomic_write(tmp_path / "missing" / "run.json", b"")
    (tmp_path / "taken").mkdir()
    with pytest.raises(RunFolderError, match=r"Cannot write .*taken"):
        atomic_write(tmp_path / "taken", b"")
    assert [item.name for item in tmp_path.iterdir()] == ["taken"]
