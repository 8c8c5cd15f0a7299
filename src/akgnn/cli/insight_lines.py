"""What `akgnn inspect` says of a run on its data: classes, calibration, doubtful labels."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from akgnn.cli.output import print_table
from akgnn.report.values import number

if TYPE_CHECKING:
    from akgnn.explain.class_scores import ClassScore
    from akgnn.explain.insight import Insight
    from akgnn.explain.suspects import Suspect


def print_insight(insight: "Insight", run: Path) -> None:
    """Print tables and sentences for people."""
    from akgnn.report.reliability_figure import reliability_words

    print()
    if insight.classes:
        print("Scores on the test nodes, in per cent:")
        _print_classes(insight.classes)
        print()
    print(reliability_words(insight.reliability))
    held_out = [suspect for suspect in insight.suspects if suspect.role != "training"]
    trained = [suspect for suspect in insight.suspects if suspect.role == "training"]
    if held_out:
        print("\nLabels that the model believes least, so most likely wrong if the model is right:")
        _print_suspects(held_out)
    if trained:
        print("\nTraining labels that it does not believe although it has seen them:")
        _print_suspects(trained)
    if insight.suspects:
        first = insight.suspects[0].name
        print(f"\nWhy a node gets its class: akgnn explain {quote(str(run))} {quote(first)}")


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
