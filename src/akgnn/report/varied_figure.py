"""The score of every row over the one setting that a spec varies."""

from collections.abc import Mapping, Sequence

from akgnn.experiments.results import CellResult
from akgnn.experiments.spec import SPLIT, shown_name
from akgnn.experiments.statistics import Summary, summarise
from akgnn.report.panels import Panel, drawn_means
from akgnn.report.values import spread, value_text
from akgnn.training.metrics import METRICS

_PER_CLASS = "-per-class"


def varied_panels(results: Sequence[CellResult]) -> list[Panel]:
    """A panel for every graph, with a line for each row."""
    by_graph: dict[str, list[CellResult]] = {}
    for result in results:
        by_graph.setdefault(result.cell.dataset, []).append(result)
    return [_panel(here) for here in by_graph.values()]


def _panel(results: Sequence[CellResult]) -> Panel:
    cell = results[0].cell
    (name,) = cell.point
    setting, texts = _shown(name, [value_text(result.cell.point[name]) for result in results])
    lines: dict[str, dict[str, CellResult]] = {}
    for result, text in zip(results, texts, strict=True):
        lines.setdefault(result.cell.row.label, {})[text] = result
    values = _in_order(texts)
    means = {
        label: {value: _summary(line[value]) for value in values if value in line}
        for label, line in lines.items()
    }
    graph, metric = shown_name(cell.dataset), METRICS[cell.metric]
    said = "; ".join(_said(label, found) for label, found in means.items())
    return Panel(
        title=graph,
        summary=f"Test {metric.label} on {graph} over {setting}, means: {said}.",
        columns=(setting, *lines),
        rows=[(value, *(_cell(line.get(value)) for line in lines.values())) for value in values],
        drawn={
            "setting": setting,
            "metric": f"test {metric.heading}",
            "values": values,
            "rows": [
                {"name": label, "x": list(found), **drawn_means(found.values())}
                for label, found in means.items()
            ],
        },
        key=list(lines),
    )


def _shown(name: str, values: Sequence[str]) -> tuple[str, list[str]]:
    """A setting and its values for readers; of splits by class the number of nodes."""
    if name == SPLIT and all(value.endswith(_PER_CLASS) for value in values):
        return "training nodes a class", [value.removesuffix(_PER_CLASS) for value in values]
    return "layers K" if name == "num_layers" else name.replace("_", " "), list(values)


def _in_order(values: Sequence[str]) -> list[str]:
    """Each value once: numbers rising, others as they come."""
    found = list(dict.fromkeys(values))
    try:
        return sorted(found, key=float)
    except ValueError:
        return found


def _summary(result: CellResult) -> Summary:
    return summarise(list(result.scores.values()))


def _cell(result: CellResult | None) -> str:
    if result is None:
        return "–"
    summary = _summary(result)
    return f"{spread(summary.mean, summary.std)}, n {len(result.finished)}"


def _said(label: str, means: Mapping[str, Summary]) -> str:
    """Both ends of a line and its highest point."""
    values = list(means)
    best = max(values, key=lambda value: means[value].mean)
    named = dict.fromkeys((values[0], best, values[-1]))
    return f"{label} " + ", ".join(f"{means[value].mean:.1f} at {value}" for value in named)
