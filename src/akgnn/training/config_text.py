"""The text of a settings file: every setting of a plan with what it means."""

import inspect
import json
import re
import textwrap
from typing import Any

from akgnn.settings import Settings
from akgnn.training.plan import RunPlan

_WIDTH = 88


def config_text(plan: RunPlan) -> str:
    """A TOML file for `akgnn train --config`.

    What tells this run from others is set; the rest stands there as comments with its present
    value, so that a file says no more than what its writer chose.
    """
    which, preset = plan.which, plan.preset
    named = {"model", "preset", "seed", *(() if plan.tables else ("dataset",))}
    parts = ["# Settings of a run: akgnn train --config FILE", _part("run", which, named)]
    if plan.tables is not None:
        usual = type(plan.tables)().to_dict()
        given = {name for name, value in plan.tables.to_dict().items() if value != usual[name]}
        parts.append(_part("tables", plan.tables, given | {"nodes", "edges"}))
    parts.append(_part("model", preset.model))
    parts.append(_part("training", preset.training))
    if preset.strategy.settings.names():
        parts.append(_part("strategy", preset.strategy.settings))
    return "\n\n".join(parts) + "\n"


def meanings(settings: type[Settings]) -> dict[str, str]:
    """What each setting means, from the docstring of its class."""
    text = inspect.getdoc(settings) or ""
    listed = text.partition("Attributes:\n")[2]
    found = re.findall(r"^    (\w+): (.+(?:\n      .+)*)", listed, flags=re.M)
    return {name: " ".join(words.split()) for name, words in found}


def _part(kind: str, settings: Settings, given: set[str] | None = None) -> str:
    """One table. What is not given is commented out."""
    settled = given or set()
    entries = []
    about = meanings(type(settings))
    for name, value in settings.to_dict().items():
        if name == "dataset" and name not in settled:
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
