"""Files and folders: written in one step, locked, and JSON as it is read and written everywhere."""

import hashlib
import io
import json
import math
import os
import platform
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NoReturn

from akgnn.errors import AkgnnError, CheckpointError, RunFolderError, SettingsError

LOCK_FILE = ".lock"
_TEMPORARY = ".tmp-"
# A temporary file says who writes it, so that others know whether it was left behind: on a shared
# disk a process of another machine may have the same number.
_MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
_OURS = re.compile(rf"{re.escape(_TEMPORARY)}{_MACHINE}-(\d{{1,10}})-\d+(\..*)?")
_NUMBERS = count()
_LONGEST_ENDING = 16
# Larger than any record, so beyond it lies a slip: another kind of file.
_MOST_JSON_BYTES = 2**28


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
    # The ending stays, as some libraries go by it, unless it is so long that the name would be too;
    # MLflow remembers every database it has made, so that no name may come twice.
    ending = file.suffix if len(file.suffix) <= _LONGEST_ENDING else ""
    writer = f"{_MACHINE}-{os.getpid()}-{next(_NUMBERS)}"
    temporary = file.parent / f"{_TEMPORARY}{writer}{ending}"
    try:
        _check_replaceable(file)
        remove_left_over(file.parent)
        yield temporary
        temporary.replace(file)
    except OSError as error:
        if isinstance(error, RunFolderError):
            raise
        raise RunFolderError(f"Cannot write {file}: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Inside, a folder to write to; unless an error comes it then takes its name in one step.

    Raises:
        RunFolderError: There is something of that name, or the folder cannot be written.
    """
    check_new(folder)
    with scratch_folder(folder.parent) as temporary:
        try:
            yield temporary
            check_new(folder)
            temporary.rename(folder)
        except OSError as error:
            if isinstance(error, AkgnnError):
                raise
            raise RunFolderError(f"Cannot write {folder}: {error.strerror or error}.") from error


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Inside, an empty folder in this one; afterwards it is gone.

    Raises:
        RunFolderError: It cannot be made.
    """
    make_folder(parent)
    scratch = parent / f"{_TEMPORARY}{_MACHINE}-{os.getpid()}-{next(_NUMBERS)}"
    remove_left_over(parent)
    try:
        try:
            scratch.mkdir()
        except OSError as error:
            raise RunFolderError(f"Cannot write in {parent}: {error.strerror or error}.") from error
        yield scratch
    finally:
        with suppress(OSError):
            _remove(scratch)


def check_new(folder: Path) -> None:
    """Refuse a folder that cannot be a new one.

    Raises:
        RunFolderError: There is something of that name, or no such name can be.
    """
    if "\0" in str(folder):
        raise RunFolderError(f"Cannot write {str(folder)!r}: a name holds no zero bytes.")
    if exists(folder) or folder.is_symlink():
        raise RunFolderError(f"{folder} is there already; name a new folder with `out`.")


def _check_replaceable(file: Path) -> None:
    """Refuse a pipe or a device, such as /dev/null, whose place a file would take."""
    if "\0" in str(file):
        raise RunFolderError(f"Cannot write {str(file)!r}: a name holds no zero bytes.")
    if file.is_dir():
        raise RunFolderError(f"Cannot write {file}: it is a folder; name a file in it.")
    if file.exists() and not file.is_file():
        raise RunFolderError(f"Cannot write {file}: it is no file but a pipe or a device.")


def remove_left_over(folder: Path) -> None:
    """Remove temporary files and folders whose writers, on this machine, were killed."""
    for file in folder.glob(f"{_TEMPORARY}*"):
        writer = _OURS.fullmatch(file.name)
        if writer and not _is_running(int(writer[1])):
            with suppress(OSError):
                _remove(file)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    # Elsewhere this signal is not a mere question.
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass
    return True


def exists(path: Path) -> bool:
    """Whether there is anything of this name.

    Raises:
        RunFolderError: That cannot be told: the name is too long, or a folder is closed.
    """
    try:
        return path.exists()
    except OSError as error:
        raise RunFolderError(f"Cannot look for {path}: {error.strerror or error}.") from error


def is_left_over(file: Path) -> bool:
    """Whether a kill left this file: a temporary one, or a lock, which counts for nothing alone."""
    return file.name.startswith(_TEMPORARY) or file.name == LOCK_FILE


def make_folder(folder: Path) -> None:
    """Make a folder that can be written to.

    Raises:
        RunFolderError: It cannot be made, or not be written to.
    """
    if "\0" in str(folder):
        raise RunFolderError(f"Cannot make the folder {str(folder)!r}: a name holds no zero bytes.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder, prefix=_TEMPORARY):
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


def json_text(content: Any, *, indent: int | None = None, compact: bool = False) -> str:
    """Content as JSON; NaN becomes null.

    If `compact`, it has no spaces, and letters beyond ASCII as they are.
    """
    separators = (",", ":") if compact else None
    return json.dumps(
        without_nan(content),
        indent=indent,
        allow_nan=False,
        separators=separators,
        ensure_ascii=not compact,
    )


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


def read_file(
    file: Path, most_bytes: int | None = None, raises: type[AkgnnError] = CheckpointError
) -> bytes:
    """The content of a file.

    Args:
        file: What to read.
        most_bytes: A larger file is refused.
        raises: The kind of error.

    Raises:
        AkgnnError: It is no file, larger than `most_bytes`, or cannot be read; of the kind
            `raises`.
    """
    with _opened(file, raises) as stream:
        size = os.fstat(stream.fileno()).st_size
        if most_bytes is not None and size > most_bytes:
            raise raises(f"{file} is too large: {size:,} bytes, at most {most_bytes:,}.")
        return stream.read()


def file_sha256(file: Path, num_bytes: int | None = None) -> str:
    """The SHA-256 of a file, which need not fit into memory.

    Args:
        file: What to read.
        num_bytes: The size it must have, which is compared first; None if it is not known.

    Raises:
        CheckpointError: It is no file, has another size, or cannot be read.
    """
    with _opened(file, CheckpointError) as stream:
        size = os.fstat(stream.fileno()).st_size
        if num_bytes is not None and size != num_bytes:
            raise CheckpointError(
                f"{file} is damaged: it has {size:,} bytes, but {num_bytes:,} were written."
            )
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def _opened(file: Path, raises: type[AkgnnError]) -> Iterator[io.BufferedReader]:
    """A file to read; what is no file is an error, since a pipe or a device would never end."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise raises(f"{file} cannot be read: it is missing, or is no file.")
        with file.open("rb") as stream:
            yield stream
    except FileNotFoundError as error:
        raise raises(f"{file} cannot be read: it is missing, or is no file.") from error
    except (OSError, ValueError) as error:
        if isinstance(error, AkgnnError):
            raise
        cause = getattr(error, "strerror", None) or error
        raise raises(f"{file} cannot be read: {cause}.") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")
