"""What trackers show of a run: its epochs and settings as plain names and values."""

import math
from collections.abc import Sequence

from akgnn.training.history import History
from akgnn.training.kernel_places import Place
from akgnn.training.plan import RunPlan
from akgnn.training.run import RunResult, metrics_of

_PARTS = {"train": "train", "val": "validation"}


def epoch_row(history: History, number: int, places: Sequence[Place]) -> dict[str, float]:
    """An epoch: `loss/train`, `accuracy/validation`, `lambda_max/layer 1` and so on.

    Args:
        history: Of the run.
        number: Of the epoch, counted from 1.
        places: Of the kernels' scalars, from `places_of`.
    """
    layers = [place.text.replace(",", "") for place in places]
    row: dict[str, float] = {}
    for name, value in history.row(number - 1).items():
        if isinstance(value, list):
            pairs = zip(layers, value, strict=True) if value else ()
            row |= {f"{name}/{layer}": number for layer, number in pairs}
            continue
        part, _, metric = name.partition("_")
        row[f"{metric}/{_PARTS[part]}" if part in _PARTS else name] = value
    return {name: value for name, value in row.items() if math.isfinite(value)}


def settings_row(plan: RunPlan) -> dict[str, str | float | bool]:
    """All settings of a run: `run.seed`, `model.num_layers` and so on."""
    return {
        f"{kind}.{name}": value if isinstance(value, str | int | float) else str(value).lower()
        for kind, settings in plan.to_dict().items()
        for name, value in settings.items()
    }


def result_row(result: RunResult) -> dict[str, float]:
    """What a run came to: `test_accuracy` and so on."""
    metrics = metrics_of(result.fit)
    return {name: float(value) for name, value in metrics.items() if math.isfinite(value)}
