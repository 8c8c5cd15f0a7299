"""Arrays in files: NumPy's own format, of plain numbers, read by memory map and never unpickled.

A memory map shows a file as an array without reading it first; the system fetches what is looked at
and lets go of it where memory is short. Tensors that are mapped cannot be written to.
"""

import hashlib
import io
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from akgnn.errors import DataError, RunFolderError

_DTYPES = {
    "<i4": torch.int32,
    "<i8": torch.int64,
    "<f2": torch.float16,
    "<f4": torch.float32,
    "<f8": torch.float64,
}
KINDS = {dtype: kind for kind, dtype in _DTYPES.items()}
"""What arrays in files may hold, and how NumPy writes it: numbers, little-endian."""
MOST = 2**60
"""More numbers than any array has."""
_MAGIC = b"\x93NUMPY"
# Bytes that are hashed and written at a time.
_AT_ONCE = 2**24


@dataclass(frozen=True)
class ArrayFile:
    """What an array file must be.

    Attributes:
        dtype: What it holds, such as `<f4`.
        shape: Its shape.
        sha256: The SHA-256 of the file.
    """

    dtype: str
    shape: tuple[int, ...]
    sha256: str

    def __post_init__(self) -> None:
        if self.dtype not in _DTYPES:
            raise ValueError(f"{self.dtype!r} is not one of {', '.join(_DTYPES)}")
        if len(self.sha256) != 64 or not set(self.sha256) <= set("0123456789abcdef"):
            raise ValueError("a SHA-256 has 64 hexadecimal digits")
        if len(self.shape) not in (1, 2) or max(self.shape) > MOST:
            raise ValueError("an array has one or two dimensions, and no such number of numbers")

    @property
    def header(self) -> bytes:
        """What stands before the numbers."""
        return _header(self.dtype, self.shape)

    @property
    def num_bytes(self) -> int:
        """The size of the file."""
        return len(self.header) + _num_bytes(self.dtype, self.shape)

    def read(self, file: Path) -> Tensor:
        """The array in a file of the right size, by memory map.

        Raises:
            ValueError: The file does not begin as it must.
            OSError: It cannot be read.
        """
        header = self.header
        with file.open("rb") as stream:
            if stream.read(len(header)) != header:
                raise ValueError("it does not begin as its manifest says")
        return mapped(file, _DTYPES[self.dtype], self.shape, offset=len(header))


def describe(values: Tensor) -> ArrayFile:
    """What the file of a tensor would be."""
    array = _array(values)
    digest = hashlib.sha256(_header(array.dtype.str, array.shape))
    for piece in _pieces(array):
        digest.update(piece)
    return ArrayFile(array.dtype.str, array.shape, digest.hexdigest())


def write_array(file: Path, values: Tensor) -> ArrayFile:
    """Write a tensor to a new file, and wait until the disk has it."""
    array = _array(values)
    header = _header(array.dtype.str, array.shape)
    digest = hashlib.sha256(header)
    with file.open("xb") as stream:
        stream.write(header)
        for piece in _pieces(array):
            digest.update(piece)
            stream.write(piece)
        stream.flush()
        os.fsync(stream.fileno())
    return ArrayFile(array.dtype.str, array.shape, digest.hexdigest())


class Growing:
    """An array that grows block by block, in memory or in a file of plain numbers.

    Args:
        dtype: What it holds.
        file: A new file; in memory if None.
    """

    def __init__(self, dtype: torch.dtype, file: Path | None = None) -> None:
        self._dtype, self._file = dtype, file
        self._blocks: list[Tensor] = []
        self._length = 0
        if file is not None:
            file.touch(exist_ok=False)

    def append(self, block: Tensor) -> None:
        """Add numbers at the end."""
        block = block.to(self._dtype)
        self._length += len(block)
        if self._file is None:
            self._blocks.append(block)
            return
        # Opened each time: there may be more such arrays than files that a process may open.
        with _writing(self._file), self._file.open("ab") as stream:
            for piece in _pieces(_array(block)):
                stream.write(piece)

    def finish(self) -> Tensor:
        """All of it; what lies in a file as a memory map."""
        if self._file is not None:
            return mapped(self._file, self._dtype, (self._length,))
        return torch.cat(self._blocks) if self._blocks else torch.empty(0, dtype=self._dtype)


def empty_in_file(file: Path, dtype: torch.dtype, shape: Sequence[int]) -> Tensor:
    """An array to be filled in a new file, by a memory map that can be written to.

    Raises:
        RunFolderError: There is no room for it.
    """
    if 0 in shape:
        return torch.empty(tuple(shape), dtype=dtype)
    with _writing(file), file.open("xb") as stream:
        if hasattr(os, "posix_fallocate"):
            # A map of a file that has no room on the disk ends the interpreter when it is filled.
            os.posix_fallocate(stream.fileno(), 0, _num_bytes(KINDS[dtype], shape))
    return torch.from_numpy(np.memmap(file, KINDS[dtype], "r+", 0, tuple(shape)))


def in_nameless_file(values: Tensor) -> Tensor:
    """A copy in a temporary file, by memory map; the file is gone with the copy.

    Raises:
        RunFolderError: There is no room for it where temporary files are.
    """
    if not values.numel():
        return values
    with _writing(Path(gettempdir())), TemporaryFile(buffering=0) as stream:
        for piece in _pieces(_array(values)):
            stream.write(piece)
        return read_only(np.memmap(stream, KINDS[values.dtype], "r", 0, tuple(values.shape)))


def mapped(file: Path, dtype: torch.dtype, shape: Sequence[int], *, offset: int = 0) -> Tensor:
    """The numbers in a file as a tensor, by memory map; writing to it ends the interpreter."""
    if 0 in shape:
        return torch.empty(tuple(shape), dtype=dtype)
    return read_only(np.memmap(file, KINDS[dtype], "r", offset, tuple(shape)))


def read_only(array: NDArray[Any]) -> Tensor:
    """An array that cannot be written to as a tensor, which nobody may write to either."""
    with warnings.catch_warnings():
        # That it cannot be written to is what is wanted.
        warnings.filterwarnings("ignore", message=".*not writable")
        return torch.from_numpy(array)


def mapped_array(file: Path) -> NDArray[Any]:
    """An array in NumPy's format that anybody may have written, by memory map.

    Raises:
        DataError: There is no such file, or it is no such array.
    """
    try:
        with file.open("rb") as stream:
            # What begins otherwise may be an archive, or a pickle.
            if file.is_file() and stream.read(len(_MAGIC)) == _MAGIC:
                array: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
                return array
    except FileNotFoundError as error:
        raise DataError(f"{file} does not exist.") from error
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}.") from error
    except (ValueError, SyntaxError, EOFError, OverflowError, RecursionError) as error:
        cause = " ".join(str(error).split())[:200]
        raise DataError(f"{file} is damaged: {cause}.") from error
    raise DataError(f"{file} is damaged or no array of NumPy's.")


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    """Inside, what goes wrong is said of this file.

    Raises:
        RunFolderError: Something did.
    """
    try:
        yield
    except OSError as error:
        raise RunFolderError(f"Cannot write {file}: {error.strerror or error}.") from error


def _header(dtype: str, shape: Sequence[int]) -> bytes:
    stream = io.BytesIO()
    described = {"descr": dtype, "fortran_order": False, "shape": tuple(shape)}
    np.lib.format.write_array_header_1_0(stream, described)
    return stream.getvalue()


def _num_bytes(dtype: str, shape: Sequence[int]) -> int:
    size = np.dtype(dtype).itemsize
    for length in shape:
        size *= length
    return size


def _array(values: Tensor) -> NDArray[np.generic]:
    return np.ascontiguousarray(values.detach().numpy())


def _pieces(array: NDArray[np.generic]) -> list[memoryview]:
    content = array.reshape(-1).view(np.uint8).data
    return [content[start : start + _AT_ONCE] for start in range(0, len(content), _AT_ONCE)]
