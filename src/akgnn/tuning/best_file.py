"""The best settings of a search as a TOML file, under the names that a run's record has."""

import json
from pathlib import Path
from typing import Any

from akgnn.training.atomic_write import atomic_write
from akgnn.training.plan import RunPlan
from akgnn.tuning.trial import Search


def write_best(search: Search, file: Path) -> None:
    """Write the settings of the best trial; nothing where none has finished."""
    if not search.finished:
        return
    best = search.best
    said = (
        f"# Trial {best.number} of {len(search.trials)}: "
        f"{search.score.name} {search.score.text(best.score)}.\n"
        f"# Split {search.split}.\n\n"
    )
    atomic_write(file, (said + settings_toml(search.plan_of(best))).encode())


def settings_toml(plan: RunPlan) -> str:
    """All settings of a plan by kind, in tables; those of the run that are none are left out."""
    tables = [
        f"[{kind}]\n"
        + "".join(
            f"{name} = {_written(value)}\n"
            for name, value in settings.items()
            if value is not None or kind in ("model", "training", "strategy")
        )
        for kind, settings in plan.to_dict().items()
    ]
    return "\n".join(tables)


def _written(value: Any) -> str:
    """A value as TOML writes it; none is a word, which settings that are numbers know."""
    # Text, numbers, true and false are written as in JSON.
    return json.dumps("none" if value is None else value, ensure_ascii=False)
