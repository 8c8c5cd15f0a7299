"""What a command leaves in its folder: is every file whole, and do two folders say the same?"""

import hashlib
import json
import math
import re
import shutil
import sqlite3
import tempfile
import tomllib
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

# Times, what the machine was doing, and what a call says of itself alone.
_PASSING = {"seconds", "sha256", "environment", "peak_memory", "trained", "choice"}
_TRIAL_SECONDS = re.compile(
    r'(<td class="text"[^>]*>\w+</td><td>[^<]*</td><td>\d+</td>)<td>[^<]*</td>'
)
# Records have six digits, the last of which may be rounded otherwise.
_ROUNDING = 1e-5
_RUN_SECONDS = re.compile(r"\b[\d.,]+ s\b")


def files_in(folder: Path) -> list[Path]:
    """All files below a folder."""
    return sorted(file for file in folder.rglob("*") if file.is_file())


def is_temporary(file: Path) -> bool:
    """Whether nobody should find this file once the work is done."""
    return file.name.startswith((".tmp-", "tmp")) or file.name.endswith(("-journal", "-wal"))


def half_written(folder: Path) -> list[str]:
    """Files that are not whole, after a kill; those with temporary names may be as they like."""
    with tempfile.TemporaryDirectory() as copy:
        # A copy, since a database is repaired when it is opened.
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        return [
            f"{file.relative_to(copy)}: {cause}"
            for file in files_in(Path(copy))
            if not is_temporary(file) and (cause := _why_not_whole(file))
        ]


def _why_not_whole(file: Path) -> str:
    try:
        if file.suffix == ".jsonl":
            # The last line may be cut off: whoever goes on knows.
            file.write_bytes(file.read_bytes().rpartition(b"\n")[0])
        content(file)
        is_page = file.suffix == ".html"
        if is_page and not file.read_text(encoding="utf-8").rstrip().endswith("</html>"):
            return "a page without an end"
        if file.suffix == ".csv" and not file.read_bytes().endswith(b"\n"):
            return "a table without an end"
        if file.suffix == ".pt2" and zipfile.ZipFile(file).testzip():
            return "a damaged member"
    except (OSError, ValueError, sqlite3.Error, zipfile.BadZipFile, _load_error()) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _load_error() -> type[Exception]:
    from safetensors import SafetensorError

    return SafetensorError


def content(file: Path) -> Any:
    """What a file says, without what passes; in a form that can be compared."""
    if file.suffix == ".json":
        return lasting(json.loads(file.read_bytes()))
    if file.suffix == ".jsonl":
        rows = [lasting(json.loads(line)) for line in file.read_bytes().splitlines()]
        # Records come in the order in which the workers were done.
        return rows if file.name == "epochs.jsonl" else sorted(rows, key=_settings)
    if file.suffix == ".toml":
        tomllib.loads(file.read_text(encoding="utf-8"))
        return file.read_text(encoding="utf-8")
    if file.suffix == ".db":
        return _trials(file)
    if file.suffix == ".html":
        text = file.read_text(encoding="utf-8")
        return _RUN_SECONDS.sub("", _TRIAL_SECONDS.sub(r"\1", text))
    if file.suffix == ".safetensors":
        from safetensors.torch import load_file

        load_file(file)
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _settings(record: Any) -> str:
    return json.dumps(record.get("settings"))


def lasting(value: Any) -> Any:
    """JSON without fields that differ from call to call."""
    if isinstance(value, dict):
        return {name: lasting(each) for name, each in value.items() if name not in _PASSING}
    return [lasting(each) for each in value] if isinstance(value, list) else value


def _trials(file: Path) -> list[Any]:
    """The trials of a study that came to an end."""
    with closing(sqlite3.connect(file)) as base:
        (state,) = base.execute("PRAGMA integrity_check").fetchone()
        if state != "ok":
            raise ValueError(state)
        tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master")}
        if "trial_values" not in tables:
            return []
        return base.execute(
            "SELECT trials.state, trial_values.value FROM trials LEFT JOIN trial_values "
            "USING (trial_id) WHERE state IN ('COMPLETE', 'PRUNED') ORDER BY number"
        ).fetchall()


def differences(whole: Path, folder: Path) -> tuple[list[str], list[str]]:
    """What differs between two folders: the files they share, and files that were left over."""
    wanted = {str(file.relative_to(whole)): file for file in files_in(whole)}
    found = {str(file.relative_to(folder)): file for file in files_in(folder)}
    different = [f"{name} is missing" for name in wanted if name not in found]
    for name in wanted:
        if name not in found:
            continue
        # Seeds that train side by side do so up to rounding, and after a kill fewer are left.
        tolerance = _ROUNDING if name.endswith("records.jsonl") else 0.0
        where = _where(content(wanted[name]), content(found[name]), tolerance)
        different += [f"{name} differs{where}"] if where else []
    return different, [name for name in found if name not in wanted]


def _where(one: Any, other: Any, tolerance: float, place: str = "") -> str:
    """The first place at which two contents differ; empty where they do not."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        inside = (_where(one[k], other[k], tolerance, f"{place}.{k}") for k in one)
        return next(filter(None, inside), "")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        inside = (_where(*pair, tolerance, f"{place}[{index}]") for index, pair in pairs)
        return next(filter(None, inside), "")
    are_floats = isinstance(one, float) and isinstance(other, float)
    if one == other or (are_floats and math.isclose(one, other, rel_tol=tolerance)):
        return ""
    return f" at {place or 'the top'}: {str(one)[:200]!r} and {str(other)[:200]!r}"
