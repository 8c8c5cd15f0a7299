"""`akgnn inspect`."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from akgnn.cli import options
from akgnn.cli.flags import in_flags
from akgnn.cli.layout import Styled
from akgnn.cli.partition import print_parts
from akgnn.cli.show import print_json, print_table
from akgnn.cli.terminal import say
from akgnn.errors import AkgnnError
from akgnn.report.values import number

if TYPE_CHECKING:
    from akgnn.data.node_data import NodeData
    from akgnn.explain.insight import ClassScore, Insight, Suspect
    from akgnn.report.kernels import LearnedKernel
    from akgnn.runs.run import Run
    from akgnn.training.state import RestartResult

# Where layers have more groups than this, each is one line with the range of its groups.
_MOST_GROUPS = 4


def inspect(
    run: options.RunFolderArgument,
    data_root: options.DataRoot = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what a model learned, how it errs, and which labels it doubts.

    Kernels with their frequency response, what smoothing means for this graph, scores by class,
    calibration, and the nodes most likely mislabelled. Of a folder of parts it says what they are.

    Example: akgnn inspect run
    """
    if (run / "parts.json").is_file():
        from akgnn.distributed.folder import open_parts

        print_parts(open_parts(run), as_json)
        return
    from akgnn.explain.insight import insight_of
    from akgnn.report.kernels import FREQUENCIES, learned_kernels
    from akgnn.report.words import ensemble_words, signal_words
    from akgnn.runs.load import load_run
    from akgnn.training.metrics import interval_words

    loaded = load_run(run)
    model = loaded.model
    data, missing = _data_of(loaded, data_root)
    learned = learned_kernels(loaded, model, data)
    kernels = learned.kernels
    calibration = loaded.result.calibration
    insight = None if data is None else insight_of(model, data, calibration=calibration)
    words = [*learned.words]
    if insight is not None:
        words += signal_words(insight.signals, insight.smoothing)
    if as_json:
        homophily = None if learned.homophily is None else asdict(learned.homophily)
        print_json(
            {
                **loaded.to_dict(),
                "kernel": kernels[0].kernel if kernels else None,
                "symbol": kernels[0].symbol if kernels else None,
                "frequency": FREQUENCIES,
                "layers": [_as_object(kernel) for kernel in kernels],
                "homophily": homophily,
                "homophily_missing": missing,
                "words": words,
                "insight": None if insight is None else insight.to_dict(),
            }
        )
        return

    result, settings = loaded.result, loaded.plan.run
    trained_on = f"{loaded.plan.data_name}, split {loaded.facts.split}"
    say(f"{run}: {loaded.name} on {trained_on}")
    # Records from before they had it are counted on the data, where there are any.
    num_test = result.num_test or (insight.num_test if insight else 0)
    interval = interval_words(result.test_accuracy, num_test)
    accuracy = number(result.test_accuracy)
    say(f"test accuracy {accuracy} %{f' ({interval})' * bool(interval)}")
    say(f"{result.epochs} epochs, best {result.best_epoch}")
    for line in ensemble_words(loaded):
        say(line)
    say()
    if kernels:
        _print_kernels(kernels, FREQUENCIES)
        say()
    else:
        say(f"The model {settings.model!r} has no adaptive kernels.")
    for line in words:
        say(line)
    if missing is not None:
        say(f"The homophily of the training nodes is not known: {missing}")
    if result.restarts:
        say()
        _print_restarts(result.restarts)
    if kernels:
        for line in _explained(kernels):
            say(line)
    if insight is not None:
        _print_insight(insight, run)


def _data_of(run: "Run", root: Path | None) -> tuple["NodeData | None", str | None]:
    """The data of the run, or why they cannot be had."""
    # Not above: `main` imports this file.
    from akgnn.cli.main import flags_of_commands

    try:
        return run.data(root), None
    except AkgnnError as error:
        return None, in_flags(str(error), flags_of_commands(), "inspect")


def _as_object(kernel: "LearnedKernel") -> dict[str, Any]:
    values = asdict(kernel)
    position = values.pop("position")
    return {**{name: value or None for name, value in position.items()}, **values}


def _print_kernels(kernels: Sequence["LearnedKernel"], frequencies: Sequence[float]) -> None:
    from akgnn.models.scalars import by_layer

    columns = ["layer", kernels[0].symbol, "neighbours", "all-pass", "low-pass"]
    columns += [f"μ={value:g}" for value in frequencies]
    layers = by_layer([kernel.position for kernel in kernels])
    if _has_many_groups(kernels):
        _print_groups([[kernels[number] for number in numbers] for numbers in layers.values()])
        return
    rows = [
        [
            kernel.position.text.removeprefix("layer "),
            number(kernel.scalar, 3),
            number(kernel.neighbour_share, 2),
            number(kernel.all_pass, 3),
            number(kernel.low_pass, 3),
            *(number(value, 2) for value in kernel.response),
        ]
        for kernel in kernels
    ]
    print_table(columns, rows)


def _has_many_groups(kernels: Sequence["LearnedKernel"]) -> bool:
    return max(kernel.position.group for kernel in kernels) > _MOST_GROUPS


def _print_groups(layers: Sequence[Sequence["LearnedKernel"]]) -> None:
    """A line for each layer with the range of its groups."""
    rows = []
    for groups in layers:
        shares = [kernel.neighbour_share for kernel in groups if kernel.neighbour_share is not None]
        name = replace(groups[0].position, group=0).text.removeprefix("layer ")
        scalars = [kernel.scalar for kernel in groups]
        rows.append([f"{name}, {len(groups)} groups", _span(scalars, 3), _span(shares, 2)])
    print_table(["layer", layers[0][0].symbol, "neighbours"], rows)


def _span(values: Sequence[float], digits: int) -> str:
    """A value, or from where to where several go; a dash without any."""
    texts = [number(value, digits) for value in sorted(values)]
    return " to ".join(dict.fromkeys((texts[0], texts[-1]))) if texts else "–"


def _print_restarts(restarts: Sequence["RestartResult"]) -> None:
    rows = [
        [
            restart.initial_value.replace("-", "−"),
            str(restart.epochs),
            f"{restart.val_loss:.3f}",
            f"{restart.val_accuracy:.1f}",
            Styled("kept", "green") if restart.is_chosen else "",
        ]
        for restart in restarts
    ]
    print_table(["start", "epochs", "validation loss", "validation %", ""], rows, "lrrrl")


_SCALARS = {
    "λ": "λ = 2 weighs a node as one of its neighbours (GCN). Higher keeps more of the node's "
    "own signal, lower averages more.",
    "τ": "τ = 0 keeps a node's own signal; above 0 neighbours are added to it, below 0 they are "
    "subtracted, and at 1 or −1 they weigh together as much as the node itself.",
}


def _explained(kernels: Sequence["LearnedKernel"]) -> list[str]:
    """How the columns and the words are to be read, below an empty line."""
    from akgnn.report.words import THRESHOLDS

    scalar = _SCALARS.get(kernels[0].symbol, "")
    share = (
        "Neighbours: their share of a node's new signal, from −1 (subtracted, nothing else) "
        "through 0 (ignored) to 1 (their plain average)."
    )
    response = (
        "The columns μ show what a layer multiplies a graph frequency by: 0 is constant along "
        "edges, 2 changes sign at every edge."
    )
    if _has_many_groups(kernels):
        response = ""
    elif kernels[0].position.direction:
        response += " In- and out-neighbours are shown each alone."
    return ["", *filter(None, (scalar, share, response, THRESHOLDS))]


def _print_insight(insight: "Insight", run: Path) -> None:
    """Print tables and sentences for people."""
    from akgnn.report.words import reliability_words

    say()
    if insight.classes:
        say("Scores on the test nodes, in per cent:", "bold")
        _print_classes(insight.classes)
        say()
    say(reliability_words(insight.reliability))
    held_out = [suspect for suspect in insight.suspects if suspect.role != "training"]
    trained = [suspect for suspect in insight.suspects if suspect.role == "training"]
    if held_out:
        say()
        say(
            "Labels that the model believes least, so most likely wrong if the model is right:",
            "bold",
        )
        _print_suspects(held_out)
    if trained:
        say()
        say("Training labels that it does not believe although it has seen them:", "bold")
        _print_suspects(trained)
    if insight.suspects:
        first = insight.suspects[0].name
        say()
        say(f"Why a node gets its class: akgnn explain {quote(str(run))} {quote(first)}")


def _print_classes(scores: Sequence["ClassScore"]) -> None:
    rows = [
        [
            score.name,
            number(score.precision),
            number(score.recall),
            number(score.f1),
            str(score.support),
        ]
        for score in scores
    ]
    print_table(["class", "precision", "recall", "F1", "test nodes"], rows)


def _print_suspects(suspects: Sequence["Suspect"]) -> None:
    rows = [
        [
            suspect.name,
            "–" if suspect.role == "none" else suspect.role,
            suspect.label,
            number(100 * suspect.probability),
            suspect.predicted,
            number(100 * suspect.predicted_probability),
            f"{suspect.neighbours_agree} : {suspect.neighbours_predicted}",
        ]
        for suspect in suspects
    ]
    columns = ["node", "used for", "label", "%", "model", "%", "neighbours for each"]
    print_table(columns, rows, "lllrlrr")
