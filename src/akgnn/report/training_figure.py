"""What each layer takes from neighbours over the epochs of training."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from akgnn.experiments.record import Record
from akgnn.experiments.results import CellResult
from akgnn.experiments.statistics import Summary, summarise
from akgnn.models.scalars import by_layer, positions_of
from akgnn.report.panels import (
    Group,
    Panel,
    common_epochs,
    drawn_means,
    evenly,
    groups_of,
    still_words,
)
from akgnn.report.values import count, number, spread

# So many epochs are drawn, evenly from the first to the last.
_DRAWN = 25
# At most so many of them are listed.
_LISTED = 7


def training_panels(results: Sequence[CellResult]) -> list[Panel]:
    """A panel for every row and graph whose records keep their epochs, with a line a layer."""
    alone = [result for result in results if not result.cell.among]
    return [panel for panel in map(_panel, groups_of(alone)) if panel]


def _panel(group: Group) -> Panel | None:
    layers = by_layer(positions_of(group.results[0].cell.template.preset.model))
    if not layers:
        return None
    records = [record for result in group.results for record in result.finished]
    shares = [found for record in records if (found := _shares(record, list(layers.values())))]
    if not shares:
        return None
    last = common_epochs([len(each) for each in shares])
    epochs = evenly(last, _DRAWN)
    means = {
        name: {epoch + 1: _mean(shares, epoch, k) for epoch in epochs}
        for k, name in enumerate(layers)
    }
    told = [
        f"{name} from {number(found[1].mean, 2)} to {number(found[last].mean, 2)}"
        for name, found in means.items()
    ]
    drawn: list[dict[str, Any]] = [
        {"name": name, "x": list(line), **drawn_means(line.values())}
        for name, line in means.items()
    ]
    # The band counts too: it may open where the mean stays.
    edges = [
        [mean + sign * std for mean, std in zip(line["mean"], line["std"], strict=True)]
        for line in drawn
        for sign in (-1, 1)
    ]
    still = still_words(edges, len(drawn))
    return Panel(
        title=group.title,
        summary=still
        or f"Mean share of neighbours of {group.label} on {group.graph} over "
        f"{count(last, 'epoch')} of {count(len(shares), 'run')}: {'; '.join(told)}.",
        columns=("epoch", *layers),
        rows=[
            (f"{epoch}", *(spread(line[epoch].mean, line[epoch].std, 2) for line in means.values()))
            for epoch in (epochs[k] + 1 for k in evenly(len(epochs), _LISTED))
        ],
        drawn={} if still else {"rows": drawn},
        key=list(layers),
    )


def _shares(record: Record, layers: Sequence[Sequence[int]]) -> list[list[float]]:
    """By epoch the share of each layer, the mean over its groups; of the start that was kept."""
    history = record.history
    if history is None or not history.neighbour_share:
        return []
    kept = [number for number, restart in enumerate(record.starts) if restart.is_chosen]
    if kept and history.start:
        history = history.of_restart(kept[0])
    return [[fmean(row[k] for k in layer) for layer in layers] for row in history.neighbour_share]


def _mean(shares: Sequence[Sequence[Sequence[float]]], epoch: int, layer: int) -> Summary:
    return summarise([each[epoch][layer] for each in shares if len(each) > epoch])
