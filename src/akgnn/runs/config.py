"""Settings files: TOML with the tables `run`, `tables`, `model`, `training` and `strategy`.

They have the names that a run's record has, so that what was searched, written or kept reads alike.
"""

import itertools
import json
import re
import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from akgnn.data.tables.settings import TableSettings, paths_of
from akgnn.errors import AkgnnError, SettingsError, UnknownNameError
from akgnn.files import read_file
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.presets import Preset, default_settings
from akgnn.settings import Settings, meanings

_KINDS = ("run", "tables", "model", "training", "strategy")
# Files of settings are short; beyond this lies a slip, such as a table of data.
_MOST_BYTES = 1_000_000
_WIDTH = 88


@dataclass(frozen=True)
class Config:
    """What a settings file says: names and values of `RunSettings` and of `TableSettings`.

    `preset` has those of the model, its training and its strategy, by kind; on top of the preset.
    """

    run: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)
    preset: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def read_config(path: Path) -> Config:
    """Read and check a settings file; what is wrong is said with its line."""
    text = _read(path)
    try:
        content = tomllib.loads(text)
    except ValueError as error:
        # Also a number of more digits than Python reads.
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
    files = {
        name: paths_of(tables[name], folder) for name in ("nodes", "edges") if tables.get(name)
    }
    return Config(run, {**tables, **files}, preset)


def _read(path: Path) -> str:
    try:
        return read_file(path, _MOST_BYTES, SettingsError).decode("utf-8")
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
    try:
        strategy = preset.strategy.updated(chosen).settings
    except AkgnnError as error:
        raise _wrong(path, text, "strategy", "strategy", error) from error
    # What decides about others is put in with each: another strategy has other names.
    choosers = {*preset.model.choosers(), *strategy.choosers(), "strategy"}
    deciding = {
        kind: {name: value for name, value in names.items() if name in choosers}
        for kind, names in values.items()
    }
    for kind, names in values.items():
        for name, value in names.items():
            try:
                preset.updated_by_kind({**deciding, kind: {**deciding[kind], name: value}})
            except AkgnnError as error:
                raise _wrong(path, text, kind, name, error) from error
    return values


def _wrong(path: Path, text: str, kind: str | None, name: str, error: AkgnnError) -> SettingsError:
    return SettingsError(f"{path}, line {line_of(text, name, kind)}: {error}")


def line_of(text: str, name: str | None, table: str | None = None, number: int = 0) -> int:
    """The line of TOML that sets a name or begins the table of that name; from 1 on.

    It is looked for in one table first, if there is such a one, and then everywhere. No name stands
    for the line that begins the table.

    Args:
        text: Text of the file.
        name: What to find.
        table: Name of the table, `[table]` or `[[table]]`.
        number: Which of several tables of this name, counted from 0.
    """
    lines = [_without_comment(line) for line in text.splitlines()]
    found = (re.fullmatch(r"\s*\[+\s*([^\[\],]+?)\s*\]+\s*", line) for line in lines)
    heads = {place: head[1] for place, head in enumerate(found) if head}
    starts = [place for place, head in heads.items() if head == table]
    everything, first = range(len(lines)), 0
    inside = everything[:0]
    if number < len(starts):
        first = starts[number]
        # Tables of tables, such as [rows.set], belong to it.
        later = (k for k, head in heads.items() if k > first and not head.startswith(f"{table}."))
        inside = everything[first + 1 : next(later, len(lines))]
    if name is None:
        return first + 1
    word = rf"(?<![\w-])[\"']?{re.escape(name)}[\"']?(?![\w-])"
    # Where the name is set goes before where it is only said.
    patterns = (rf"\s*\[+\s*{word}\s*\]", rf".*{word}\s*=", rf".*{word}")
    for places, pattern in itertools.product((inside, everything), patterns):
        for place in places:
            if re.match(pattern, lines[place]):
                return place + 1
    return 1


def _without_comment(line: str) -> str:
    """A line of TOML up to the first # outside of quotes."""
    text = re.match(r"""(?:[^"'#]|"(?:\\.|[^"\\])*"?|'[^']*'?)*""", line)
    return text[0] if text else ""


def config_text(plan: RunPlan) -> str:
    """The text of a settings file for a plan.

    What tells this run from others is set; the rest stands there as comments with its present
    value, so that a file says no more than what its writer chose. What has no effect is left out.
    """
    kinds = plan.in_effect()
    preset = plan.preset
    named = {"model", "preset", "seed", *(() if plan.tables else ("dataset",))}
    parts = [_part("run", plan.run, named)]
    if plan.tables is not None:
        usual = type(plan.tables)().to_dict()
        given = {name for name, value in plan.tables.to_dict().items() if value != usual[name]}
        parts.append(_part("tables", plan.tables, given | {"nodes", "edges"}))
    strategy = preset.strategy.settings
    for kind, settings in (("model", preset.model), ("training", preset.training)):
        parts.append(_part(kind, settings, shown=kinds[kind]))
    if strategy.names():
        parts.append(_part("strategy", strategy, shown=kinds["strategy"]))
    return "\n\n".join(parts) + "\n"


def settings_toml(plan: RunPlan) -> str:
    """All settings of a plan that have an effect, by kind; those of the run that are none are not.

    It can be read as a settings file, in which a setting without effect is an error.
    """
    tables = [
        f"[{kind}]\n"
        + "".join(
            f"{name} = {_written('none' if value is None else value)}\n"
            for name, value in settings.items()
            if value is not None or kind in ("model", "training", "strategy")
        )
        for kind, settings in plan.in_effect().items()
    ]
    return "\n".join(tables)


def _part(
    kind: str,
    settings: Settings,
    given: set[str] | None = None,
    shown: Mapping[str, Any] | None = None,
) -> str:
    """One table of all settings, or of those `shown`; what is not given is commented out."""
    settled = given or set()
    entries = []
    about = meanings(type(settings))
    for name, value in settings.to_dict().items():
        if (name == "dataset" and name not in settled) or name not in (shown or settings.names()):
            continue
        comment = textwrap.wrap(about.get(name, ""), _WIDTH)
        setting = f"{name} = {_written(value)}"
        lines = [*(f"# {line}" for line in comment), setting if name in settled else f"# {setting}"]
        entries.append("\n".join(lines))
    return f"[{kind}]\n" + "\n\n".join(entries)


def _written(value: Any) -> str:
    """A value as TOML writes it, which has no way to write none: that stands in comments alone."""
    if value is None:
        return "…"
    return str(value).lower() if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)
