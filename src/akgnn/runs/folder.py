"""Run folders: `run.json`, which says everything, and beside it the weights and `epochs.jsonl`.

Files are written under another name, flushed to disk and then renamed. `run.json` names its
weights file and that file's SHA-256, and is renamed last: a kill at any moment leaves the old
state or the new one, never a mixture. It holds its own SHA-256 too, so that a damaged name of a
class is noticed like a damaged weight. Weights are safetensors, which cannot run code.

Fitted estimators are kept in the same way, with what they need beside the model.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from akgnn.codec import from_json, reading
from akgnn.errors import CheckpointError, RunFolderError
from akgnn.files import (
    as_path,
    exists,
    file_sha256,
    folder_lock,
    is_left_over,
    json_lines,
    json_text,
    make_folder,
    parse_json,
    read_file,
    read_json,
    write_file,
)
from akgnn.training.history import History
from akgnn.training.state import Snapshot, Weights

RUN_FILE = "run.json"
EPOCHS_FILE = "epochs.jsonl"
FINAL_WEIGHTS = "weights.safetensors"
_NUMBER = 4
FORMAT = f"akgnn-run-{_NUMBER}"


class RunFolder:
    """The folder of one run.

    Args:
        path: Made if it does not exist when something is first written.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = as_path("The folder of a run", path)

    def holds_run(self) -> bool:
        """Whether a run was started here.

        Raises:
            RunFolderError: The folder cannot be looked into.
        """
        return exists(self.path / RUN_FILE)

    def check_free(self) -> None:
        """Refuse a folder that holds a run or something else, or cannot be made or written.

        Raises:
            RunFolderError: It does.
        """
        if self.holds_run():
            raise RunFolderError(
                f"{self.path} holds a run already; `resume=True` continues it, or choose another "
                "folder."
            )
        self._check_one_run()
        if self.path.exists() and not self.path.is_dir():
            raise RunFolderError(f"{self.path} is a file, not a folder.")
        # What an interrupted start may have left does not count.
        if self.path.exists() and not all(map(is_left_over, self.path.iterdir())):
            raise RunFolderError(f"{self.path} holds other files; choose an empty or a new folder.")
        there = next(path for path in (self.path, *self.path.absolute().parents) if path.exists())
        if not there.is_dir():
            raise RunFolderError(f"Cannot write to the folder {self.path}: {there} is a file.")
        if not os.access(there, os.W_OK):
            raise RunFolderError(f"Cannot write to the folder {self.path}: it is read-only.")

    def prepare(self) -> None:
        """Make the folder; refuse one that cannot be written or holds something else.

        Raises:
            RunFolderError: The folder cannot take a run.
        """
        self.check_free()
        make_folder(self.path)

    def read(self) -> dict[str, Any]:
        """The content of `run.json`.

        Raises:
            CheckpointError: There is none, or it is damaged or foreign.
            RunFolderError: The folder holds several runs.
        """
        file = self.path / RUN_FILE
        if not self.holds_run():
            self._check_one_run()
            raise CheckpointError(f"{self.path} holds no run: there is no {RUN_FILE} in it.")
        return _checked(file, read_json(file))

    def _check_one_run(self) -> None:
        for kind in ("seed", "fold"):
            folders = sorted(item.parent.name for item in self.path.glob(f"{kind}-*/{RUN_FILE}"))
            if folders:
                raise RunFolderError(
                    f"{self.path} holds the runs of several {kind}s; name one of them, such as "
                    f"{self.path / folders[0]}, or say `{kind}s`."
                )

    def locked(self) -> AbstractContextManager[None]:
        """Inside, no other process may train in this folder."""
        return folder_lock(self.path)

    def write(self, content: Mapping[str, Any], weights: Weights | None, file: str = "") -> None:
        """Replace the state of the run by a new one.

        Args:
            content: Content of `run.json`.
            weights: Tensors for the file beside it, if there are any yet.
            file: Name of that file. Another than the present one's, so that both lie side by
                side until `run.json` has changed over.

        Raises:
            RunFolderError: The folder cannot be written to.
        """
        entry = None
        if weights is not None:
            # On the CPU and in one piece each: what safetensors asks for.
            blob = save_tensors({name: t.cpu().contiguous() for name, t in weights.items()})
            write_file(self.path / file, blob)
            digest = hashlib.sha256(blob).hexdigest()
            entry = {"file": file, "bytes": len(blob), "sha256": digest}
        record = {"format": FORMAT, **content, "weights": entry}
        write_file(self.path / RUN_FILE, sealed(record))
        self.remove_old(record)

    def remove_old(self, content: Mapping[str, Any]) -> None:
        """Remove states that `run.json` names no more, and what a kill left; under the lock."""
        kept = self._weights_file(content) if content.get("weights") else ""
        for old in [*self.path.glob("*.safetensors"), *self.path.glob(".tmp-*")]:
            if old.name != kept:
                with suppress(OSError):
                    old.unlink()

    def read_weights(self, content: Mapping[str, Any]) -> Weights:
        """The tensors that belong to this content of `run.json`.

        Raises:
            CheckpointError: There are none, or they are damaged.
        """
        entry = content.get("weights")
        if not entry:
            raise CheckpointError(f"The run in {self.path} has no weights yet.")
        with reading(self.path):
            sha256 = from_json(str, entry["sha256"], "sha256")
            size = from_json(int, entry["bytes"], "bytes")
        return read_tensors(self.path / self._weights_file(content), sha256, size)

    def _weights_file(self, content: Mapping[str, Any]) -> str:
        """The name of the file with the tensors that belong to this content."""
        with reading(self.path):
            return Path(from_json(str, content["weights"]["file"], "file")).name

    def write_snapshot(self, content: Mapping[str, Any], snapshot: Snapshot) -> None:
        """Keep the state of a run that goes on."""
        parts = {
            "model": snapshot.weights,
            "best": snapshot.best_weights,
            "optimizer": snapshot.optimizer,
        }
        tensors = {f"{part}/{name}": t for part, all_ in parts.items() for name, t in all_.items()}
        progress = {"seconds": snapshot.seconds, "history": snapshot.history.to_dict()}
        file = f"state-{len(snapshot.history):06d}.safetensors"
        self.write({**content, "status": "running", **progress}, tensors, file)

    def read_snapshot(self, content: Mapping[str, Any]) -> Snapshot | None:
        """The state from which to resume; None where no epoch was kept yet."""
        if not content.get("weights"):
            return None
        parts: dict[str, Weights] = {"model": {}, "best": {}, "optimizer": {}}
        tensors = self.read_weights(content)
        with reading(self.path):
            for key, tensor in tensors.items():
                part, _, name = key.partition("/")
                parts[part][name] = tensor
            history = from_json(History, content["history"], "history")
            seconds = from_json(float, content["seconds"], "seconds")
        return Snapshot(parts["model"], parts["best"], parts["optimizer"], history, seconds)

    def write_epochs(self, rows: Sequence[dict[str, Any]]) -> None:
        """Begin `epochs.jsonl` anew, with these epochs."""
        write_file(self.path / EPOCHS_FILE, json_lines(list(rows)))

    def add_epochs(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add epochs to `epochs.jsonl`; a kill meanwhile may cut off the last line."""
        file = self.path / EPOCHS_FILE
        try:
            with file.open("ab") as stream:
                stream.write(json_lines(list(rows)))
        except OSError as error:
            raise RunFolderError(f"Cannot write {file}: {error.strerror or error}.") from error


def sealed(content: Mapping[str, Any]) -> bytes:
    """The bytes of `run.json`: a record with its own SHA-256."""
    # As it will be read, with lists for tuples and null for NaN.
    record = parse_json(json_text({**content, "sha256": None}))
    record["sha256"] = _sha256(record)
    return (json_text(record, indent=1) + "\n").encode()


def read_tensors(file: Path, sha256: str, num_bytes: int) -> Weights:
    """The tensors of a safetensors file that must have this size and this SHA-256.

    Raises:
        CheckpointError: It is another file, or none.
    """
    # First bit by bit: another file may be larger than memory.
    if file_sha256(file, num_bytes) != sha256:
        raise CheckpointError(f"{file} is damaged: it is not the file that {RUN_FILE} names.")
    blob = read_file(file)
    try:
        return dict(load_tensors(blob))
    except SafetensorError as error:
        raise CheckpointError(f"{file} is not a safetensors file: {error}.") from error


def check_fit(kind: str, tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Refuse tensors of other names or shapes than expected, or with numbers that are not finite.

    Raises:
        CheckpointError: Some are.
    """
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    wanted = {name: tuple(tensor.shape) for name, tensor in expected.items()}
    if shapes != wanted:
        different = sorted(set(shapes.items()) ^ set(wanted.items()))[0][0]
        raise CheckpointError(f"The {kind} do not fit the model: {different!r} differs.")
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise CheckpointError(
                f"The {kind} hold numbers that are not finite, first in {name!r}."
            )


def _checked(file: Path, content: Any) -> dict[str, Any]:
    """The content of `run.json` if this version wrote it and nobody changed it."""
    form = content.get("format") if isinstance(content, dict) else None
    other = re.fullmatch(r"akgnn-run-(\d{1,6})", form) if isinstance(form, str) else None
    if other is None:
        raise CheckpointError(f"{file} was not written by akgnn.")
    if int(other[1]) != _NUMBER:
        kind, advice = ("a newer", "Update akgnn.")
        if int(other[1]) < _NUMBER:
            kind, advice = ("an earlier", "Train the run again.")
        raise CheckpointError(
            f"{file} was written by {kind} version of akgnn, in format {other[1]}; this one reads "
            f"format {_NUMBER}. {advice}"
        )
    if content.get("sha256") != _sha256(content):
        raise CheckpointError(f"{file} is damaged: it is not what was written.")
    return {name: value for name, value in content.items() if name != "sha256"}


def _sha256(record: Mapping[str, Any]) -> str:
    """The SHA-256 of what a record says beside it, however it is written."""
    others = {name: value for name, value in record.items() if name != "sha256"}
    try:
        text = json.dumps(others, sort_keys=True, separators=(",", ":"))
    except RecursionError as error:
        raise CheckpointError("The record of the run is nested too deeply.") from error
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
