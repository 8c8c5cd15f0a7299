from pathlib import Path
from typing import IO

import numpy as np
import pytest
import torch

from akgnn.arrays import (
    KINDS,
    ArrayFile,
    Growing,
    describe,
    empty_in_file,
    in_nameless_file,
    mapped,
    write_array,
)
from akgnn.errors import RunFolderError
from akgnn.files import file_sha256

SHAPES = [(0,), (5,), (3, 4), (0, 4), (2**21 + 3,)]


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_written_is_what_numpy_and_a_map_read(
    dtype: torch.dtype, shape: tuple[int, ...], tmp_path: Path
):
    values = torch.arange(torch.Size(shape).numel()).remainder(2000).to(dtype).view(shape)
    file = tmp_path / "a.npy"
    written = write_array(file, values)
    assert written == describe(values)
    assert written.sha256 == file_sha256(file)
    assert written.num_bytes == file.stat().st_size
    assert np.array_equal(np.load(file, allow_pickle=False), values.numpy())
    read = written.read(file)
    assert read.dtype == dtype
    assert torch.equal(read, values)


def test_columns_of_a_matrix_are_written_in_one_piece(tmp_path: Path):
    matrix = torch.arange(6.0).view(2, 3)
    file = tmp_path / "a.npy"
    write_array(file, matrix[:, 1])
    assert np.load(file).tolist() == [1, 4]


def test_a_file_that_begins_otherwise_is_refused(tmp_path: Path):
    written = write_array(tmp_path / "a.npy", torch.arange(4))
    other = ArrayFile("<f8", written.shape, written.sha256)
    with pytest.raises(ValueError, match="does not begin as its manifest says"):
        other.read(tmp_path / "a.npy")


def test_files_are_not_overwritten(tmp_path: Path):
    write_array(tmp_path / "a.npy", torch.arange(4))
    with pytest.raises(FileExistsError):
        write_array(tmp_path / "a.npy", torch.arange(5))


@pytest.mark.parametrize(
    ("dtype", "shape", "sha256"),
    [
        ("|O", (1,), "0" * 64),
        (">f4", (1,), "0" * 64),
        ("<f4", (), "0" * 64),
        ("<f4", (1, 1, 1), "0" * 64),
        ("<f4", (2**61,), "0" * 64),
        ("<f4", (1,), "0" * 63),
        ("<f4", (1,), "G" * 64),
    ],
)
def test_other_arrays_than_numbers_are_refused(dtype: str, shape: tuple[int, ...], sha256: str):
    with pytest.raises(ValueError, match=r"is not one of|dimensions|hexadecimal"):
        ArrayFile(dtype, shape, sha256)


def test_plain_numbers_of_a_file_are_mapped(tmp_path: Path):
    file = tmp_path / "raw"
    np.arange(6, dtype="<i4").tofile(file)
    assert mapped(file, torch.int32, (2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert mapped(file, torch.int32, (0,)).tolist() == []


@pytest.mark.parametrize("in_file", [False, True])
def test_arrays_grow_block_by_block(in_file: bool, tmp_path: Path):
    growing = Growing(torch.int32, tmp_path / "a" if in_file else None)
    assert growing.finish().tolist() == []
    growing.append(torch.tensor([1, 2]))
    growing.append(torch.tensor([], dtype=torch.int64))
    growing.append(torch.tensor([3]))
    assert growing.finish().tolist() == [1, 2, 3]
    assert growing.finish().dtype == torch.int32


def test_an_array_in_a_file_can_be_filled(tmp_path: Path):
    array = empty_in_file(tmp_path / "a", torch.float32, (2, 3))
    array[1] = 5
    assert np.fromfile(tmp_path / "a", "<f4").tolist() == [0, 0, 0, 5, 5, 5]
    assert empty_in_file(tmp_path / "b", torch.float32, (0, 3)).shape == (0, 3)


def test_where_there_is_no_room_the_file_is_named(tmp_path: Path):
    # No disk has an exbibyte to spare.
    with pytest.raises(RunFolderError, match=r"Cannot write .*a: "):
        empty_in_file(tmp_path / "a", torch.float32, (2**58,))
    growing = Growing(torch.int32, tmp_path / "b")
    (tmp_path / "b").unlink()
    (tmp_path / "b").symlink_to("/dev/full")
    with pytest.raises(RunFolderError, match="b: No space left on device"):
        growing.append(torch.arange(5))


def test_a_copy_in_a_nameless_file_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for values in (torch.randn(3, 2), torch.randn(4, 3).T, torch.empty(0, 3)):
        copy = in_nameless_file(values)
        assert torch.equal(copy, values)
        assert copy.dtype == values.dtype
    assert list(tmp_path.iterdir()) == []


def test_where_there_is_no_room_for_a_nameless_file_its_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(**_: object) -> IO[bytes]:
        return open("/dev/full", "wb", buffering=0)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("akgnn.arrays.TemporaryFile", full)
    with pytest.raises(RunFolderError, match=f"Cannot write {tmp_path}: No space left on device"):
        in_nameless_file(torch.ones(3, 2))
