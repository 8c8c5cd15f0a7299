"""The folder of a fitted estimator: `estimator.json` and the tensors beside it.

Nothing in it can run, and everything is checked when read, as if a stranger had written it. The
JSON holds the SHA-256 of its own content and of the tensors' file, which it names, and is written
last: a kill at any moment leaves the old estimator or the new one.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from akgnn.errors import CheckpointError, RunFolderError, SettingsError
from akgnn.estimator.record import Tensors, describe, restore
from akgnn.training.atomic_write import atomic_write
from akgnn.training.record import reading, text
from akgnn.training.run import versions

if TYPE_CHECKING:
    from akgnn.estimator.classifier import AKGNNClassifier

RECORD_FILE = "estimator.json"
_FORMAT, _VERSION = "akgnn-estimator", 1
# Nothing else is looked for, so that no path leads out of the folder.
_TENSORS_NAME = re.compile(r"tensors-[0-9a-f]{16}\.safetensors")


def write_estimator(folder: Path, estimator: "AKGNNClassifier") -> None:
    """Put a fitted estimator into a folder, in place of the one it may hold."""
    content, tensors = describe(estimator)
    blob = save_tensors(tensors)
    sha256 = hashlib.sha256(blob).hexdigest()
    content |= {
        "versions": versions(),
        "tensors": {"file": f"tensors-{sha256[:16]}.safetensors", "sha256": sha256},
    }
    try:
        digest = _digest(content)
    except (TypeError, ValueError) as error:
        raise SettingsError(
            f"The estimator has an argument or label that JSON cannot hold: {error}."
        ) from error
    _prepare(folder)
    atomic_write(folder / content["tensors"]["file"], blob)
    record = {"format": f"{_FORMAT}-{_VERSION}", "sha256": digest, "content": content}
    atomic_write(folder / RECORD_FILE, (json.dumps(record, indent=1) + "\n").encode())
    for old in [*folder.glob("tensors-*.safetensors"), *folder.glob(".tmp-*")]:
        if old.name != content["tensors"]["file"]:
            old.unlink(missing_ok=True)


def read_estimator(folder: Path, kind: type["AKGNNClassifier"]) -> "AKGNNClassifier":
    """The estimator that a folder holds; a `CheckpointError` says what is wrong with it."""
    content = _read_record(folder / RECORD_FILE)
    with reading(folder):
        entry = content["tensors"]
        return restore(content, _read_tensors(folder, entry["file"], entry["sha256"]), kind)


def _prepare(folder: Path) -> None:
    """Make the folder; refuse one that holds something else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = {item.name for item in folder.iterdir()}
    except OSError as error:
        raise RunFolderError(f"Cannot write to {folder}: {error.strerror or error}.") from error
    if RECORD_FILE not in names and any(
        not name.startswith((".tmp-", "tensors-")) for name in names
    ):
        raise RunFolderError(f"{folder} holds other files; choose an empty or a new folder.")


def _read_record(file: Path) -> dict[str, Any]:
    if not file.exists():
        raise CheckpointError(f"{file.parent} holds no estimator: there is no {file.name} in it.")
    try:
        record = json.loads(_read(file).decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{file} is damaged: {error}.") from error
    with reading(file.parent):
        _check_format(file, text(record["format"]))
        content, sha256 = record["content"], text(record["sha256"])
        if not isinstance(content, dict) or _digest(content) != sha256:
            raise CheckpointError(f"{file} is damaged: its content is not what its SHA-256 says.")
    return content


def _check_format(file: Path, found: str) -> None:
    kind, _, version = found.rpartition("-")
    if kind != _FORMAT or not re.fullmatch(r"[0-9]{1,9}", version):
        raise CheckpointError(f"{file} was not written by AKGNNClassifier.save: it says {found!r}.")
    if int(version) > _VERSION:
        raise CheckpointError(
            f"{file} was written by a newer akgnn: its format is {found}, and this one reads "
            f"{_FORMAT}-{_VERSION}. Update akgnn to load it."
        )
    if int(version) != _VERSION:
        raise CheckpointError(f"{file} has the format {found}, which was never in use.")


def _read_tensors(folder: Path, name: Any, sha256: Any) -> Tensors:
    if not _TENSORS_NAME.fullmatch(text(name)):
        raise CheckpointError(f"{folder / RECORD_FILE} names {name!r}, which is no tensors' file.")
    blob = _read(folder / name)
    if hashlib.sha256(blob).hexdigest() != text(sha256):
        raise CheckpointError(f"{folder / name} is damaged: its SHA-256 is not {RECORD_FILE}'s.")
    try:
        return dict(load_tensors(blob))
    except SafetensorError as error:
        raise CheckpointError(f"{folder / name} is not a safetensors file: {error}.") from error


def _read(file: Path) -> bytes:
    # A pipe or a device would never end.
    if not file.is_file():
        raise CheckpointError(f"{file} is missing, or is no file.")
    try:
        return file.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{file} cannot be read: {error.strerror or error}.") from error


def _digest(content: dict[str, Any]) -> str:
    """The SHA-256 of what the content says, however it is laid out."""
    written = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(written.encode()).hexdigest()


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")
