"""`akgnn train --model auto`: the models that were tried, and why one of them was chosen."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from akgnn.cli.output import print_table
from akgnn.cli.progress import training_progress
from akgnn.cli.stopping import stop_requests
from akgnn.errors import InterruptedRunError

if TYPE_CHECKING:
    from akgnn.data.node_data import NodeData
    from akgnn.training.plan import RunPlan
    from akgnn.tuning.auto import Choice


def choose(plans: Sequence["RunPlan"], data: "NodeData") -> "Choice":
    """Try the models while a bar shows how far they are."""
    from akgnn.tuning.auto import choose_model

    patience = plans[0].preset.training.patience
    with stop_requests() as should_stop, training_progress(len(plans)) as show:
        try:
            return choose_model(
                list(plans), data, after_epoch=partial(show, patience), should_stop=should_stop
            )
        except InterruptedRunError as error:
            raise InterruptedRunError(
                f"{error} No model was chosen yet, and nothing was kept."
            ) from error


def choice_object(choice: "Choice") -> dict[str, Any]:
    """A choice for `--json`."""
    tried = [
        {
            "model": each.model,
            "score": each.score,
            "epochs": each.epochs,
            "seconds": each.seconds,
            "error": each.error,
        }
        for each in choice.tried
    ]
    return {
        "model": choice.chosen.model,
        "why": choice.why,
        "score": choice.score.column,
        "standard_error": choice.margin,
        "tried": tried,
    }


def print_choice(choice: "Choice") -> None:
    """Print what was tried, what was chosen and why."""
    rows = [
        [
            each.model,
            "failed" if each.error else choice.score.text(each.score),
            str(each.epochs),
            f"{each.seconds:.1f}",
            "chosen" if each == choice.chosen else "",
        ]
        for each in choice.tried
    ]
    print_table(["model", choice.score.name, "epochs", "seconds", ""], rows, "lrrrl")
    print(f"Chosen: {choice.chosen.model}. {choice.why}\n")
