"""Settings files: TOML with the tables `run`, `tables`, `model`, `training` and `strategy`.

They have the names that a run's record has, so that what was searched, written or kept reads alike.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from akgnn.data.tables.settings import TableSettings
from akgnn.errors import AkgnnError, SettingsError, UnknownNameError
from akgnn.training.plan import RunSettings
from akgnn.training.presets import Preset, default_settings

_KINDS = ("run", "tables", "model", "training", "strategy")
# Files of settings are short; beyond this lies a slip, such as a table of data.
_MOST_BYTES = 1_000_000


@dataclass(frozen=True)
class Config:
    """What a settings file says.

    Attributes:
        run: Names and values of `RunSettings`.
        tables: Of `TableSettings`.
        preset: Of the model, its training and its strategy, by kind; on top of the preset.
    """

    run: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)
    preset: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def read_config(path: Path) -> Config:
    """Read and check a settings file; what is wrong is said with its line."""
    text = _read(path)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is no TOML: {error}.") from error
    except RecursionError as error:
        raise SettingsError(f"{path} is nested too deeply.") from error
    for kind, values in content.items():
        if kind not in _KINDS:
            raise _wrong(path, text, None, kind, UnknownNameError("table", kind, _KINDS))
        if not isinstance(values, dict):
            example = SettingsError(
                f"Write {kind!r} as a table: [{kind}] and below it its settings."
            )
            raise _wrong(path, text, None, kind, example)
    run = _checked(path, text, "run", content, RunSettings)
    tables = _checked(path, text, "tables", content, TableSettings)
    preset = _checked_preset(path, text, content, run)
    folder = path.absolute().parent
    # Files are named as seen from the settings file.
    files = {name: str(folder / tables[name]) for name in ("nodes", "edges") if tables.get(name)}
    return Config(run, {**tables, **files}, preset)


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SettingsError(f"{path} is too large to be a settings file.")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is no TOML: it is not UTF-8 text.") from error


def _checked(
    path: Path,
    text: str,
    kind: str,
    content: Mapping[str, Any],
    settings: type[RunSettings] | type[TableSettings],
) -> dict[str, Any]:
    """The values of one table, each of them tried alone."""
    for name, value in content.get(kind, {}).items():
        try:
            settings.from_mapping({name: value})
        except AkgnnError as error:
            raise _wrong(path, text, kind, name, error) from error
    return dict(content.get(kind, {}))


def _checked_preset(
    path: Path, text: str, content: Mapping[str, Any], run: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    model = run.get("model", RunSettings().model)
    try:
        preset: Preset = default_settings(model)
    except UnknownNameError as error:
        raise _wrong(path, text, "run", "model", error) from error
    values = {kind: dict(content.get(kind, {})) for kind in ("model", "training", "strategy")}
    chosen = {name: value for name, value in values["strategy"].items() if name == "strategy"}
    for kind, names in values.items():
        for name, value in names.items():
            try:
                # Another strategy has other names.
                preset.updated_by_kind({"strategy": chosen}).updated_by_kind({kind: {name: value}})
            except AkgnnError as error:
                raise _wrong(path, text, kind, name, error) from error
    return values


def _wrong(path: Path, text: str, kind: str | None, name: str, error: AkgnnError) -> SettingsError:
    return SettingsError(f"{path}, line {_line_of(text, kind, name)}: {error}")


def _line_of(text: str, kind: str | None, name: str) -> int:
    """The line that sets a name in a table, or begins a table; from 1 on."""
    key = rf"\s*[\"']?{re.escape(name)}[\"']?\s*[=.]"
    begun: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        head = re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line)
        begun = head[1] if head else begun
        if (kind is None and head and head[1] == name) or (begun == kind and re.match(key, line)):
            return number
    return 1
