"""Files and folders: written in one step, locked, and JSON as it is read and written everywhere."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NoReturn

from akgnn.errors import CheckpointError, RunFolderError, SettingsError

LOCK_FILE = ".lock"
_TEMPORARY = ".tmp-"
_NUMBERS = count()
# Larger than any record, so beyond it lies a slip: another kind of file.
_MOST_JSON_BYTES = 2**30


def as_path(what: str, path: object) -> Path:
    """A path that was given as text or as a `Path`.

    Args:
        what: What it leads to, for the message.
        path: The path.

    Raises:
        SettingsError: It is neither.
    """
    if not isinstance(path, str | os.PathLike):
        raise SettingsError(f"{what} is given as text or a Path, got {type(path).__name__}.")
    return Path(path)


def write_file(file: Path, content: bytes) -> None:
    """Put a file in place in one step, after its content has reached the disk.

    Raises:
        RunFolderError: The file cannot be written; what was there before is untouched.
    """
    with replacing(file) as temporary, temporary.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """Inside, a path to write to; the file there takes the place of `file` unless an error comes.

    Raises:
        RunFolderError: The file cannot be written; what was there before is untouched.
    """
    # The ending stays, as some libraries go by it; MLflow remembers every database it has made, so
    # that no name may come twice.
    temporary = file.parent / f"{_TEMPORARY}{os.getpid()}-{next(_NUMBERS)}-{file.name}"
    try:
        yield temporary
        temporary.replace(file)
    except OSError as error:
        if isinstance(error, RunFolderError):
            raise
        raise RunFolderError(f"Cannot write {file}: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def is_left_over(file: Path) -> bool:
    """Whether a kill left this file: a temporary one, or a lock, which counts for nothing alone."""
    return file.name.startswith(_TEMPORARY) or file.name == LOCK_FILE


def make_folder(folder: Path) -> None:
    """Make a folder that can be written to.

    Raises:
        RunFolderError: It cannot be made, or not be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RunFolderError(
            f"Cannot write to the folder {folder}: {error.strerror or error}."
        ) from error


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Inside, no other process may enter with this folder. A kill gives the lock back.

    Raises:
        RunFolderError: Another process holds the lock.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK_FILE, blocking=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise RunFolderError(f"Another process is training in {folder}.") from error
    except OSError as error:
        raise RunFolderError(f"Cannot lock {folder}: {error.strerror or error}.") from error
    try:
        yield
    finally:
        lock.release()


def without_nan(content: Any) -> Any:
    """The same lists and dictionaries with null for NaN and infinity, which JSON lacks."""
    if isinstance(content, Mapping):
        return {name: without_nan(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def json_text(content: Any, *, indent: int | None = None) -> str:
    """Content as JSON; NaN becomes null."""
    return json.dumps(without_nan(content), indent=indent, allow_nan=False)


def json_lines(rows: Iterator[Any] | list[Any]) -> bytes:
    """A line of JSON for each row."""
    return "".join(json_text(row) + "\n" for row in rows).encode()


def parse_json(text: str | bytes) -> Any:
    """Content from JSON text; a `ValueError` says what is wrong with it."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def read_json(file: Path) -> Any:
    """The content of a JSON file.

    Raises:
        CheckpointError: It is no file, too large, cannot be read, or is no JSON.
    """
    try:
        return parse_json(read_file(file, _MOST_JSON_BYTES))
    except ValueError as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{file} is damaged: {error}.") from error


def read_file(file: Path, most_bytes: int | None = None) -> bytes:
    """The content of a file.

    Raises:
        CheckpointError: It is no file, larger than `most_bytes`, or cannot be read.
    """
    # A pipe or a device would never end.
    if not file.is_file():
        raise CheckpointError(f"{file} is missing, or is no file.")
    try:
        if most_bytes is not None and file.stat().st_size > most_bytes:
            raise CheckpointError(f"{file} is too large to be a record.")
        return file.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{file} cannot be read: {error.strerror or error}.") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")
