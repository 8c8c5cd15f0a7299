"""How commands show things: JSON, tables, and what a training came to."""

import math
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from akgnn.cli.layout import Styled, table_lines, table_width
from akgnn.cli.terminal import columns_of, painted, printable, say
from akgnn.files import json_text
from akgnn.report.values import number

if TYPE_CHECKING:
    from akgnn.runs.choice import Choice, Tried
    from akgnn.runs.facts import DataFacts
    from akgnn.runs.plan import RunPlan
    from akgnn.runs.run import Run
    from akgnn.runs.verdict import Verdict

# More lines than this would hide the rest; `akgnn inspect` has them.
_MOST_LINES = 4
# The least width of names in a list of pairs.
_NAMES = 15
# Metrics that have their line; others, of one's own, follow.
_SHOWN = (
    "accuracy", "balanced_accuracy", "macro_f1", "roc_auc", "log_loss", "calibration_error",
)  # fmt: skip


def print_json(content: Any) -> None:
    """Print one JSON object; NaN, which JSON lacks, becomes null."""
    print(json_text(content))


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], align: str | None = None
) -> None:
    """Print a table, as wide as the terminal at the most.

    Args:
        columns: Headings.
        rows: Cells; those that are `Styled` have their colour.
        align: `l` or `r` for each column, if not given first `l`, then `r`.
    """
    align = align or "l" + "r" * (len(columns) - 1)
    cells = [[_printable_cell(cell) for cell in row] for row in rows]
    paint = partial(painted, stream=sys.stdout)
    for line in table_lines(columns, cells, align, columns_of(sys.stdout), paint):
        print(line)


def fits(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table is no wider than the terminal as it is, with nothing wrapped."""
    width = columns_of(sys.stdout)
    return width is None or table_width(columns, rows) <= width


def _printable_cell(cell: str) -> str:
    text = printable(cell)
    return Styled(text, cell.style) if isinstance(cell, Styled) else text


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and what belongs to each, in two columns."""
    width = max([_NAMES, *(len(name) for name, _ in pairs)])
    for name, text in pairs:
        say(f"  {name:<{width}} {text}", hang=width + 3)


def data_line(name: str, facts: "DataFacts") -> str:
    """A data set in a line, from its name and what a record says of it."""
    return (
        f"{name}: {facts.num_nodes} nodes, {facts.num_edges} edges, "
        f"{facts.num_features} features, {len(facts.class_names)} classes"
    )


def numbers(values: Sequence[float], digits: int = 2) -> str:
    """Numbers in a row, such as λ of every layer."""
    return "  ".join(number(value, digits) for value in values)


def print_run(run: "Run", device: str, verdict: "Verdict | None" = None) -> None:
    """Print one run for people."""
    from akgnn.report.words import ensemble_words
    from akgnn.training.metrics import METRICS, interval_words

    result, settings = run.result, run.plan.run
    _print_data(run)
    say(f"{run.name}, {settings.seeds}, {result.seconds:.1f} s on {device}")
    interval = interval_words(result.test_accuracy, result.num_test)
    pairs = [
        ("test accuracy", f"{result.test_accuracy:.1f} %{f'   ({interval})' * bool(interval)}"),
        (
            "test balanced",
            f"{result.test_balanced_accuracy:.1f} %   (macro F1 {result.test_macro_f1:.1f} %)",
        ),
        (
            "test log loss",
            f"{result.test_log_loss:.3f}    (calibration error "
            f"{result.test_calibration_error:.1f} %, temperature {result.temperature:.2f})",
        ),
    ]
    if verdict is not None:
        pairs.append(("most frequent", _most_frequent(verdict)))
    if len(run.facts.class_names) == 2:
        text = f"{result.test_roc_auc:.1f} %   (validation {result.val_roc_auc:.1f} %)"
        pairs.append(("test ROC-AUC", text))
    for name, metric in METRICS.items():
        if name not in _SHOWN:
            pairs.append((f"test {metric.label}", metric.text(result.scores[f"test_{name}"])))
    epochs = f"(best of {result.epochs} epochs: {result.best_epoch})"
    pairs.append(("validation", f"{result.val_accuracy:.1f} %   {epochs}"))
    print_pairs([*pairs, *kernel_lines(run)])
    for line in ensemble_words(run):
        say(line)


def _most_frequent(verdict: "Verdict") -> str:
    """What naming one class throughout would come to."""
    score = verdict.test_most_frequent
    score = verdict.val_most_frequent if math.isnan(score) else score
    return f"{score:.1f} %   (always {verdict.most_frequent!r})"


def print_seeds(runs: Sequence["Run"], verdict: "Verdict | None" = None) -> None:
    """Print the runs of several seeds, with mean and interval."""
    from akgnn.experiments.statistics import summarise

    _print_data(runs[0])
    rows = [
        [
            str(run.plan.run.seed),
            f"{run.result.test_accuracy:.1f}",
            f"{run.result.val_accuracy:.1f}",
            str(run.result.best_epoch),
            f"{run.result.seconds:.1f}",
        ]
        for run in runs
    ]
    columns = ["seed", "test %", "validation %", "best epoch", "seconds"]
    more = kernel_columns(runs)
    cells = [[*row, *new] for row, *new in zip(rows, *more.values(), strict=True)]
    sides = ["l" if name == "start" else "r" for name in [*columns[1:], *more]]
    print_table([*columns, *more], cells, "l" + "".join(sides))
    summary = seeds_summary(runs)
    low, high = summary["ci95"]
    say(
        f"{summary['model']} ({summary['preset']}): test accuracy {summary['mean']:.2f} ± "
        f"{summary['std']:.2f} % over {len(runs)} seeds, "
        f"95 % interval of the mean {low:.2f} to {high:.2f}"
    )
    for line in _test_nodes(runs, summary["mean"]):
        say(line)
    if verdict is not None:
        say(f"most frequent class: {_most_frequent(verdict)}")
    if len(runs[0].facts.class_names) == 2:
        roc_auc = summarise([run.result.test_roc_auc for run in runs])
        low, high = roc_auc.ci95
        say(
            f"test ROC-AUC {roc_auc.mean:.2f} ± {roc_auc.std:.2f} %, "
            f"95 % interval of the mean {low:.2f} to {high:.2f}"
        )


def _test_nodes(runs: Sequence["Run"], mean: float) -> list[str]:
    """What the number of test nodes leaves open, where all runs have the same."""
    from akgnn.training.metrics import interval_words

    nodes, splits = runs[0].result.num_test, {run.facts.split for run in runs}
    interval = interval_words(mean, nodes) if len(splits) == 1 else ""
    return [f"the test nodes alone leave it open: {interval}"] if interval else []


def seeds_summary(runs: Sequence["Run"]) -> dict[str, Any]:
    """The runs of several seeds in one object."""
    from akgnn.experiments.statistics import summarise

    objects = [run.to_dict() for run in runs]
    summary = summarise([run["test_accuracy"] for run in objects])
    shared = {name: objects[0][name] for name in ("dataset", "split", "model", "preset")}
    return {
        **shared,
        "mean": summary.mean,
        "std": summary.std,
        "ci95": list(summary.ci95),
        "runs": objects,
    }


def print_folds(runs: Sequence["Run"], device: str) -> None:
    """Print the runs of all folds, with mean and standard deviation."""
    summary = folds_summary(runs)
    plan, columns = runs[0].plan, _fold_columns()
    settings = plan.run
    folds = f"{len(runs)} folds of split seed {settings.split_seed}"
    say(f"{data_line(plan.data_name, runs[0].facts)}; {folds}")
    rows = [
        [str(fold), *(f"{run[name]:.{digits}f}" for name, (_, digits) in columns.items())]
        for fold, run in enumerate(summary["runs"])
    ]
    scores = summary["scores"]
    for label, key in (("mean", "mean"), ("±", "std")):
        values = [f"{scores[name][key]:.{digits}f}" for name, (_, digits) in columns.items()]
        rows.append([label, *values])
    print_table(["fold", *(heading for heading, _ in columns.values())], rows)
    say(
        f"{settings.model} ({settings.preset}), seed {settings.seed}, on {device}: test accuracy "
        f"{summary['mean']:.2f} ± {summary['std']:.2f} % over {len(runs)} folds"
    )


def folds_summary(runs: Sequence["Run"]) -> dict[str, Any]:
    """The runs of all folds in one object; standard deviations are those between folds."""
    from akgnn.experiments.statistics import summarise

    objects = [run.to_dict() for run in runs]
    scores = {}
    for name in _fold_columns():
        summary = summarise([run[name] for run in objects])
        scores[name] = {"mean": summary.mean, "std": summary.std}
    names = ("dataset", "model", "preset", "seed", "split_seed")
    return {
        **{name: getattr(runs[0].plan.run, name) for name in names},
        "folds": len(objects),
        **scores["test_accuracy"],
        "scores": scores,
        "runs": objects,
    }


def _fold_columns() -> dict[str, tuple[str, int]]:
    """Of the result's numbers those that folds are shown by, each with heading and digits."""
    from akgnn.training.metrics import METRICS

    short = {"accuracy": "test %", "balanced_accuracy": "balanced %"}
    tested = {
        f"test_{name}": (short.get(name, metric.heading), metric.digits)
        for name, metric in METRICS.items()
    }
    return {**tested, "val_accuracy": ("validation %", 1), "seconds": ("seconds", 1)}


def choice_object(choice: "Choice") -> dict[str, Any]:
    """A choice by validation in one object."""
    names = ("score", "val_accuracy", "epochs", "seconds", "error")

    def named(plan: "RunPlan") -> dict[str, str]:
        return {"model": plan.run.model, "preset": plan.run.preset}

    return {
        **named(choice.chosen.plan),
        "why": choice.why,
        "about_links": choice.about_links,
        "score": choice.score.column,
        "votes": [{**named(each.plan), "weight": weight} for each, weight in choice.voters],
        "tried": [
            {**named(each.plan), **{name: getattr(each, name) for name in names}}
            for each in choice.tried
        ],
    }


def print_choice(choice: "Choice", *, votes: bool = False) -> None:
    """Print what was tried, which was chosen or who votes, and why."""
    weights = dict(choice.voters)

    def part(each: "Tried") -> "str | Styled":
        if not votes:
            return Styled("chosen", "green") if each == choice.chosen else ""
        return Styled(f"{100 * weights[each]:.0f} %", "green") if each in weights else ""

    rows = [
        [
            each.name,
            Styled("failed", "red") if each.error else choice.score.text(each.score),
            "–" if each.error else f"{each.val_accuracy:.1f}",
            str(each.epochs),
            f"{each.seconds:.1f}",
            part(each),
        ]
        for each in choice.tried
    ]
    heads = ["model", choice.score.name, "validation %", "epochs", "seconds", "vote" * votes]
    print_table(heads, rows, "lrrrrr" if votes else "lrrrrl")
    say(f"{'Best alone' if votes else 'Chosen'}: {choice.why}")
    if choice.about_links:
        say(choice.about_links)
    say()


def kernel_lines(run: "Run") -> list[tuple[str, str]]:
    """Names and values: the initial value, λ or τ, and where there is no λ the shares."""
    from akgnn.models.scalars import scalars_of, symbol_of

    result, settings = run.result, run.plan.preset.model
    lines = [
        ("start", f"{value}; best of {len(result.restarts)} by validation")
        for value in _chosen_values(run)
    ]
    scalars = scalars_of(settings, result.lambda_max, result.neighbour_share)
    lines += _by_strand(run, symbol_of(settings) or "λ", scalars)
    if not result.lambda_max and run.facts.num_edges:
        lines += _by_strand(run, "neighbours", result.neighbour_share)
    return lines


def kernel_columns(runs: Sequence["Run"]) -> dict[str, list[str]]:
    """Headings and cells for the table of several runs; none for models without kernels."""
    from akgnn.models.scalars import positions_of, scalars_of, symbol_of

    columns: dict[str, list[str]] = {}
    values = [_chosen_values(run) for run in runs]
    if all(values):
        columns["start"] = [value[0] for value in values]
    settings = runs[0].plan.preset.model
    scalars = [
        scalars_of(settings, run.result.lambda_max, run.result.neighbour_share) for run in runs
    ]
    # With several scalars a layer a line would be too long.
    is_short = len({position.strand for position in positions_of(settings)}) <= 1
    if all(scalars) and is_short:
        columns[f"{symbol_of(settings) or 'λ'} per layer"] = [numbers(row) for row in scalars]
    return columns


def _print_data(run: "Run") -> None:
    from akgnn.data.tables.settings import LINKS
    from akgnn.models.scalars import positions_of
    from akgnn.report.words import NO_EDGES

    say(f"{data_line(run.plan.data_name, run.facts)}; split {run.facts.split}")
    if run.facts.recipe is not None:
        say(f"Columns: {run.facts.recipe.in_words}")
    if (links := run.facts.source.get(LINKS)) is not None:
        say(f"No table of links: {links}")
    if run.plan.preset.strategy.takes_labels:
        classes = len(run.facts.class_names)
        say(f"Labels of training nodes are inputs for others ({classes} features)")
    if run.facts.num_edges == 0 and positions_of(run.plan.preset.model):
        say(NO_EDGES)


def _chosen_values(run: "Run") -> list[str]:
    return [each.initial_value for each in run.result.restarts if each.is_chosen]


def _by_strand(run: "Run", name: str, values: Sequence[float]) -> list[tuple[str, str]]:
    """One line through the layers for each direction and group, or one line for all."""
    from akgnn.models.scalars import by_strand, positions_of

    positions = positions_of(run.plan.preset.model)
    if not values or len(positions) != len(values):
        return [(f"{name} per layer", numbers(values))] if values else []
    strands = by_strand(positions, values)
    if len(strands) > _MOST_LINES:
        span = f"{number(min(values), 2)} to {number(max(values), 2)}"
        return [(name, f"{span}, {len(strands)} a layer")]
    if len(strands) == 1:
        only = name if name == "neighbours" else f"{name} per layer"
        return [(only, numbers(values))]
    return [
        (", ".join(filter(None, (name, side, f"group {group}" if group else ""))), numbers(row))
        for (side, group), row in strands.items()
    ]
