"""`akgnn train --folds`: what is allowed beside it, and how its runs are shown."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from akgnn.cli.output import data_line, print_json, print_table
from akgnn.errors import SettingsError

if TYPE_CHECKING:
    from akgnn.training.run import RunResult

_MOST_FOLDS = 1000
# Of the result's numbers, each with its heading and its digits.
_COLUMNS = {
    "test_accuracy": ("test %", 1),
    "test_balanced_accuracy": ("balanced %", 1),
    "test_macro_f1": ("macro F1 %", 1),
    "test_roc_auc": ("ROC-AUC %", 1),
    "test_log_loss": ("log loss", 3),
    "test_calibration_error": ("calibration error %", 1),
    "val_accuracy": ("validation %", 1),
    "seconds": ("seconds", 1),
}


def check_folds(folds: int, split: str | None, seeds: int | None, model: str | None) -> None:
    """Refuse numbers that are none, and options that folds leave no room for."""
    if not 2 <= folds <= _MOST_FOLDS:
        raise SettingsError(f"--folds must be from 2 to {_MOST_FOLDS}, got {folds}.")
    if split is not None:
        raise SettingsError(
            f"--folds draws its own splits, so --split {split} has no place beside it; "
            "--split-seed draws others."
        )
    if seeds is not None:
        raise SettingsError("--folds and --seeds do not go together; choose one of them.")
    if model == "auto":
        raise SettingsError(
            "--model auto chooses by one split, whose nodes other folds test; "
            "name a model with --folds."
        )


def show_folds(
    results: Sequence["RunResult"], device: str, out: Path | None, as_json: bool
) -> None:
    """Print the runs of all folds, with mean and deviation."""
    summary = folds_summary(results)
    if as_json:
        print_json(summary)
        return
    plan, data = results[0].plan, results[0].data
    which = plan.which
    folds = f"{len(results)} folds of split seed {which.split_seed}"
    print(f"{data_line(plan.data_name, data)}; {folds}")
    rows = [
        [str(fold), *(f"{run[name]:.{digits}f}" for name, (_, digits) in _COLUMNS.items())]
        for fold, run in enumerate(summary["runs"])
    ]
    scores = summary["scores"]
    for label, key in (("mean", "mean"), ("±", "std")):
        values = [f"{scores[name][key]:.{digits}f}" for name, (_, digits) in _COLUMNS.items()]
        rows.append([label, *values])
    print_table(["fold", *(heading for heading, _ in _COLUMNS.values())], rows)
    print(
        f"{which.model} ({which.preset}), seed {which.seed}, on {device}: test accuracy "
        f"{summary['mean']:.2f} ± {summary['std']:.2f} % over {len(results)} folds"
    )
    if out is not None:
        print(f"Kept in {out}; see: akgnn inspect {out / 'fold-0'}")


def folds_summary(results: Sequence["RunResult"]) -> dict[str, Any]:
    """The runs of all folds in one object; deviations are those between folds."""
    from akgnn.training.summary import summarise

    runs = [result.to_dict() for result in results]
    scores = {}
    for name in _COLUMNS:
        summary = summarise([run[name] for run in runs])
        scores[name] = {"mean": summary.mean, "std": summary.std}
    which = results[0].plan.which
    return {
        "dataset": which.dataset,
        "model": which.model,
        "preset": which.preset,
        "seed": which.seed,
        "split_seed": which.split_seed,
        "folds": len(runs),
        **scores["test_accuracy"],
        "scores": scores,
        "runs": runs,
    }
