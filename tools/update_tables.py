"""Write the measured tables into the documents; with --check, only say whether they are up to date.

A table stands between `<!-- table NAME -->` and `<!-- end -->`. NAME is an experiment, measured in
`results`; `NAME by METRIC` for another metric of its records; either with `: LABEL; …` for some of
its rows, or after `compare` for its first row against the others, or after `turned` with a line for
each data set; `agreement NAME NAME …` for the readings of a method whose published values were
found; `search NAME` for a search, in `results/search`; `trajectory NAME` for λ by epoch where
records keep it; `energy NAME` for what `benchmarks/energy.py` measured, `votes GRAPH GRAPH …` for
what `benchmarks/votes.py` did, `few votes` for what it did with few labels; or `bench NAME` for
benchmarks, in `results/bench`. `figure NAME` shows the figure of an experiment. Figures, the curves
of benchmarks and the figure of the idea are written to `docs/plots`.
"""

import json
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from akgnn.bench.record import BenchContents, read_records
from akgnn.data.catalogue import graph_name
from akgnn.experiments.record import Record
from akgnn.experiments.results import (
    CellResult,
    as_markdown,
    by_metric,
    collect,
    markdown_agreement,
    markdown_comparison,
    markdown_table,
)
from akgnn.experiments.spec_files import load_spec, read_spec
from akgnn.experiments.store import RecordStore
from akgnn.report.figure_documents import (
    PLOTS_FOLDER,
    Rows,
    figure_files,
    figure_markdown,
    figure_rows,
)
from akgnn.report.plots import idea_files
from akgnn.report.speed_documents import plot_files, speed_markdown

ROOT = Path(__file__).parents[1]
DOCUMENTS = (
    "README.md",
    "docs/choosing.md",
    "docs/kernels.md",
    "docs/performance.md",
    "docs/reproduction.md",
)
PLOTS = ROOT / "docs" / PLOTS_FOLDER
# Those that λ is shown at; no run of the study of losses ends before the last.
_EPOCHS = (1, 10, 25, 50, 100, 150)
_TABLE = re.compile(r"(<!-- table (.+?) -->\n).*?(<!-- end -->)", flags=re.S)


@cache
def records(folder: str) -> Sequence[Record]:
    """The records of a folder."""
    return RecordStore(ROOT / folder).read().records


@cache
def benchmarks() -> BenchContents:
    """The records of benchmarks."""
    return read_records(ROOT / "results" / "bench")


def table(name: str) -> str:
    """The table of this name."""
    name, _, labels = name.partition(":")
    name, _, metric = name.partition(" by ")
    kind, _, rest = name.rpartition(" ")
    if kind == "bench":
        return speed_markdown(rest, benchmarks())
    if kind == "energy":
        return energies(rest)
    if name == "few votes":
        return few_votes()
    if name.startswith("votes "):
        return votes(name.split()[1:])
    if kind == "figure":
        return figure_markdown(figure(rest, labels))
    if name.startswith("agreement "):
        specs = map(load_spec, name.split()[1:])
        return markdown_agreement(
            [each for spec in specs for each in collect(spec, records("results"))]
        )
    if kind == "search":
        spec = read_spec(ROOT / "results" / "search" / f"{rest}.toml")
        return markdown_table(spec, collect(spec, records("results/search")))
    spec = load_spec(rest)
    results = collect(spec, records("results"))
    results = by_metric(results, metric) if metric else results
    results = rows_of(results, labels) if labels else results
    if kind == "trajectory":
        return trajectory(results)
    is_turned = "turned" in kind
    if "compare" in kind:
        return markdown_comparison(results, is_turned=is_turned)
    return markdown_table(spec, results, is_turned=is_turned)


@cache
def figure(name: str, labels: str) -> Rows:
    """The files of an experiment's figure, of some of its rows where labels are given."""
    spec = load_spec(name)
    results = collect(spec, records("results"))
    return figure_rows(spec.shows, name, rows_of(results, labels) if labels else results)


def plots() -> dict[str, str]:
    """Every file of the folder of plots, by name."""
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in DOCUMENTS]
    names = [
        found[2].removeprefix("figure ")
        for text in texts
        for found in _TABLE.finditer(text)
        if found[2].startswith("figure ")
    ]
    figures = [figure(name, labels) for name, _, labels in (each.partition(":") for each in names)]
    files = [plot_files(benchmarks()), idea_files(), *map(figure_files, figures)]
    return {name: text for found in files for name, text in found.items()}


def trajectory(results: Sequence[CellResult]) -> str:
    """λ of each layer by epoch, means over the seeds that still train, a line for each epoch."""
    lines = []
    for result in results:
        found = [record.history.lambda_max for record in result.finished if record.history]
        for epoch in _EPOCHS:
            here = [scalars[epoch - 1] for scalars in found if len(scalars) >= epoch]
            means = [f"{fmean(layer):.2f}" for layer in zip(*here, strict=True)]
            name = graph_name(result.cell.dataset)
            lines.append([result.cell.row.label, name, str(epoch), str(len(here)), *means])
    layers = [f"layer {k}" for k in range(1, len(lines[0]) - 3)]
    return as_markdown([["method", "graph", "epoch", "runs", *layers], *lines])


def energies(name: str) -> str:
    """Dirichlet energies by readout and depth, means over seeds, of a file of the benchmark."""
    text = (ROOT / "results" / f"{name}.jsonl").read_text(encoding="utf-8")
    found: dict[tuple[str, bool, int], list[list[float]]] = {}
    for line in map(json.loads, text.splitlines()):
        key = (line["readout"], not line["learn_lambda"], line["num_layers"])
        signals = line["layers"]
        numbers = [signals[0], signals[1], signals[-1], line["energy"]]
        found.setdefault(key, []).append(numbers)
    rows = [["readout", "λ", "K", "runs", "before", "layer 1", "layer K", "classifier sees"]]
    for (readout, is_fixed, layers), lines in sorted(found.items()):
        kinds = [readout, "fixed at 2" if is_fixed else "learned", str(layers), str(len(lines))]
        rows.append([*kinds, *(f"{fmean(column):.3f}" for column in zip(*lines, strict=True))])
    return as_markdown(rows)


def vote_lines(name: str) -> list[dict[str, Any]]:
    """What `benchmarks/votes.py` wrote."""
    text = (ROOT / "results" / f"{name}.jsonl").read_text(encoding="utf-8")
    return list(map(json.loads, text.splitlines()))


def by_split(lines: Sequence[dict[str, Any]], value: Callable[[dict[str, Any]], float]) -> str:
    """Mean and deviation over splits of a number, which is the mean of a split's repetitions."""
    found: dict[int, list[float]] = {}
    for line in lines:
        found.setdefault(line["number"], []).append(value(line))
    means = [fmean(values) for values in found.values()]
    return f"{fmean(means):.1f} ± {stdev(means):.1f}"


def votes(graphs: Sequence[str]) -> str:
    """The default beside the best preset alone and every preset, means over splits."""
    lines = vote_lines("votes")
    presets = list(lines[0]["presets"])
    columns: list[list[str]] = []
    for graph in graphs:
        found = [line for line in lines if line["dataset"] == graph]
        losses = [[line[name] for line in found] for name in ("log_loss", "best_log_loss")]
        columns.append(
            [
                graph_name(graph) + ", ROC-AUC" * (graph == "minesweeper"),
                str(len({line["number"] for line in found})),
                str(len({line.get("repeat", 0) for line in found}) * found[0].get("seeds", 1)),
                by_split(found, itemgetter("vote")),
                by_split(found, lambda line: line["presets"][line["best"]]),
                *(by_split(found, _of_preset(name)) for name in presets),
                *(f"{fmean(row):.3f}" for row in losses),
            ]
        )
    heads = ["method", "splits", "seeds a split", "the default: a vote", "the best alone"]
    heads += [*(f"`{name}`" for name in presets), "log loss, vote", "log loss, best alone"]
    return as_markdown([list(row) for row in zip(heads, *columns, strict=True)])


def _of_preset(name: str) -> Callable[[dict[str, Any]], float]:
    return lambda line: float(line["presets"][name])


def few_votes() -> str:
    """Votes of one seed of each preset and of three, on splits with few labels."""
    lines = vote_lines("votes-few")
    rows = [["graph", "splits", "one seed", "three", "log loss, one", "three"]]
    for graph in dict.fromkeys(line["dataset"] for line in lines):
        found = [[line for line in lines if (line["dataset"], line["seeds"]) == (graph, seeds)]
                 for seeds in (1, 3)]  # fmt: skip
        scores = [by_split(each, itemgetter("vote")) for each in found]
        losses = [f"{fmean(line['log_loss'] for line in each):.3f}" for each in found]
        rows.append([graph_name(graph), str(len(found[0])), *scores, *losses])
    return as_markdown(rows)


def rows_of(results: Sequence[CellResult], labels: str) -> list[CellResult]:
    """The rows of these labels, separated by semicolons."""
    wanted = [label.strip() for label in labels.split(";")]
    return [result for result in results if result.cell.row.label in wanted]


def updated(text: str) -> str:
    """A document with its tables as the records have them."""
    return _TABLE.sub(lambda found: f"{found[1]}{table(found[2])}{found[3]}", text)


def wanted() -> dict[Path, str | None]:
    """Every file that is written, with what it should hold; None for a plot that is no more."""
    documents = [ROOT / name for name in DOCUMENTS]
    return {
        **{file: updated(file.read_text(encoding="utf-8")) for file in documents},
        **dict.fromkeys(PLOTS.glob("*.svg")),
        **{PLOTS / name: text for name, text in plots().items()},
    }


def main() -> int:
    """Update or check all files; gives the exit status."""
    is_check = "--check" in sys.argv
    stale = []
    for file, text in wanted().items():
        if text == (file.read_text(encoding="utf-8") if file.exists() else None):
            continue
        stale.append(str(file.relative_to(ROOT)))
        if is_check:
            continue
        if text is None:
            file.unlink()
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    if stale:
        print(f"{'Stale' if is_check else 'Updated'}: {', '.join(stale)}")
    return int(bool(stale) and is_check)


if __name__ == "__main__":
    sys.exit(main())
