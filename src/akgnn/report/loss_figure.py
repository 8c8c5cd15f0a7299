"""Loss by epoch, one panel a variant: the median over seeds with its quartiles."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from akgnn.data.catalogue import graph_name
from akgnn.experiments.results import CellResult
from akgnn.report.panel import Panel
from akgnn.report.values import count
from akgnn.training.history import History

# So many epochs are listed in a panel's table.
_LISTED = 12


@dataclass(frozen=True)
class Band:
    """A curve by epoch with its quartiles."""

    low: list[float]
    mid: list[float]
    high: list[float]


def loss_panels(results: Sequence[CellResult]) -> list[Panel]:
    """A panel for every variant whose records keep their epochs."""
    several = len({result.cell.dataset for result in results}) > 1
    return [
        _panel(result, several)
        for result in results
        if any(record.history for record in result.finished)
    ]


def common_epochs(lengths: Sequence[int]) -> int:
    """The last epoch that at least half of the seeds reach."""
    return sorted(lengths, reverse=True)[(len(lengths) + 1) // 2 - 1]


def band(curves: Sequence[Sequence[float]], epochs: int) -> Band:
    """Quartiles by epoch of curves that end at different epochs."""
    quartiles = [
        np.percentile([curve[epoch] for curve in curves if len(curve) > epoch], [25, 50, 75])
        for epoch in range(epochs)
    ]
    low, mid, high = ([float(f"{value:.4g}") for value in q] for q in zip(*quartiles, strict=True))
    return Band(low, mid, high)


def _panel(result: CellResult, several: bool) -> Panel:
    histories = [record.history for record in result.finished if record.history is not None]
    epochs = common_epochs([len(history) for history in histories])
    train = band([history.train_loss for history in histories], epochs)
    val = band([history.val_loss for history in histories], epochs)
    label, name = result.cell.row.label, graph_name(result.cell.dataset)
    listed = sorted({*np.linspace(0, epochs - 1, min(_LISTED, epochs)).astype(int).tolist()})
    return Panel(
        title=f"{label}, {name}" if several else label,
        summary=f"{label} on {name}, {_said(histories, epochs, train, val)}",
        columns=("epoch", "training loss", "validation loss"),
        rows=[(f"{k + 1}", f"{train.mid[k]:.3f}", f"{val.mid[k]:.3f}") for k in listed],
        drawn={"train": vars(train), "val": vars(val)},
    )


def _said(histories: Sequence[History], epochs: int, train: Band, val: Band) -> str:
    best = int(np.argmin(val.mid))
    return (
        f"{count(len(histories), 'seed')}, {count(epochs, 'epoch')}: the median training loss goes "
        f"from {train.mid[0]:.2f} to {train.mid[-1]:.2f}, the median validation loss from "
        f"{val.mid[0]:.2f} to {val.mid[-1]:.2f}, with its lowest {val.mid[best]:.2f} at epoch "
        f"{best + 1}."
    )
