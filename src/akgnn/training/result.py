"""What a training came to."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from akgnn.codec import from_json
from akgnn.notebook import card, curves
from akgnn.training.calibration import UNCALIBRATED, Calibration
from akgnn.training.history import History
from akgnn.training.metrics import METRICS, interval_words, share_interval
from akgnn.training.state import RestartResult

# More than any graph has; a damaged record may claim any number.
_MOST_NODES = 2**63
# Of more scalars than this a notebook shows the range.
_MOST_LISTED = 10


@dataclass(frozen=True)
class FitResult:
    """What training came to; all scores but the losses in per cent.

    Scores are attributes: `test_accuracy`, `test_macro_f1`, `val_roc_auc` and so on, for every name
    in `METRICS`. The test nodes are read once, at the best epoch; without any, scores are NaN.

    Attributes:
        scores: By name: `test_NAME` and `val_NAME` of every metric, `val_loss` and
            `train_accuracy`, all at the best epoch.
        best_epoch: The epoch that validation chose, counted from 1.
        epochs: How many epochs were trained.
        seconds: Time of the training.
        lambda_max: λ of every layer at the best epoch; empty for models without.
        neighbour_share: What every layer takes from neighbours at the best epoch, from -1 to 1;
            empty for models without adaptive kernels.
        restarts: The initial values that were tried, where there were several.
        history: Every epoch; of several restarts those of the best.
        calibration: How class scores become probabilities, so that the loss on validation nodes is
            lowest. Log loss and calibration error are of those probabilities.
        num_test: Number of test nodes; 0 also in records from before it was kept.
    """

    scores: Mapping[str, float]
    best_epoch: int
    epochs: int
    seconds: float
    lambda_max: tuple[float, ...]
    neighbour_share: tuple[float, ...]
    restarts: tuple[RestartResult, ...]
    history: History = field(repr=False)
    calibration: Calibration = UNCALIBRATED
    num_test: int = 0

    def __getattr__(self, name: str) -> float:
        scores: Mapping[str, float] = self.__dict__.get("scores", {})
        if name in scores:
            return scores[name]
        raise AttributeError(f"A result has no {name!r}; its scores are {', '.join(scores)}.")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.scores]

    def _repr_html_(self) -> str:
        """The scores and the losses over epochs, for notebooks."""
        return card("FitResult", self.shown(), self.loss_curves())

    def shown(self) -> list[tuple[str, str]]:
        """What a notebook shows, by name."""
        accuracy = self.scores.get("test_accuracy", math.nan)
        interval = interval_words(accuracy, self.num_test)
        rows = [
            ("test accuracy", f"{_percent(accuracy)}{f' ({interval})' if interval else ''}"),
            ("test macro F1", _percent(self.scores.get("test_macro_f1", math.nan))),
            ("validation accuracy", _percent(self.scores.get("val_accuracy", math.nan))),
            ("best epoch", f"{self.best_epoch} of {self.epochs}, {self.seconds:.1f} s"),
        ]
        if self.lambda_max:
            rows.append(("λ", _in_a_row(self.lambda_max)))
        if self.neighbour_share:
            rows.append(("share of neighbours", _in_a_row(self.neighbour_share)))
        return rows

    def loss_curves(self) -> str:
        """Training and validation loss over epochs as SVG; empty without epochs."""
        lines = {"training loss": self.history.train_loss, "validation loss": self.history.val_loss}
        return curves("Loss by epoch", lines, self.best_epoch)

    @property
    def temperature(self) -> float:
        """What the class scores of a typical node are divided by; 1 leaves them."""
        return self.calibration.temperature

    @property
    def test_accuracy_ci95(self) -> tuple[float, float]:
        """The 95 % interval of the test accuracy, in per cent: what the number of test nodes tells.

        Other seeds and other splits are not in it. NaN where the number is 0.
        """
        return share_interval(self.scores.get("test_accuracy", math.nan), self.num_test)

    @property
    def metrics(self) -> dict[str, float]:
        """The scores and the numbers of epochs by name."""
        return {**self.scores, "best_epoch": self.best_epoch, "epochs": self.epochs}

    def to_dict(self) -> dict[str, Any]:
        """Everything but the history, in one flat object."""
        return {
            **self.metrics,
            "num_test": self.num_test,
            "test_accuracy_ci95": list(self.test_accuracy_ci95),
            "seconds": self.seconds,
            "lambda_max": list(self.lambda_max),
            "neighbour_share": list(self.neighbour_share),
            "starts": [restart.to_dict() for restart in self.restarts],
            "temperature": self.calibration.temperature,
            "temperature_power": self.calibration.power,
            "typical_size": self.calibration.size,
            "uniform_share": self.calibration.uniform_share,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], history: History) -> "FitResult":
        """The result that `to_dict` wrote; a `ValueError` or `KeyError` if it does not fit."""
        lists = ("lambda_max", "neighbour_share", "starts")
        calibration = ("temperature", "temperature_power", "typical_size", "uniform_share")
        tested = ("num_test", "test_accuracy_ci95")
        others = ("best_epoch", "epochs", "seconds", *tested, *lists, *calibration)
        # Runs from before there were some of the scores do not have them.
        scores = dict.fromkeys(_score_names(), math.nan)
        for name in ("test_accuracy", "val_accuracy", "val_loss", "train_accuracy"):
            scores[name] = from_json(float, content[name], name)
        scores |= {
            name: from_json(float, value, name)
            for name, value in content.items()
            if name not in others
        }
        num_test = from_json(int, content.get("num_test", 0), "num_test")
        if not 0 <= num_test < _MOST_NODES:
            raise ValueError(f"num_test is {num_test}")
        best_epoch, epochs = (
            from_json(int, content[name], name) for name in ("best_epoch", "epochs")
        )
        # Members of an ensemble come without a history.
        if not 1 <= best_epoch <= epochs or len(history) not in (0, epochs):
            raise ValueError(
                f"the best epoch is {best_epoch} of {epochs}, and the history has {len(history)}"
            )
        numbers = tuple[float, ...]
        # Runs from before probabilities were calibrated have them as they were.
        temperature, power, size, share = (
            from_json(float, content.get(name, default), name)
            for name, default in zip(calibration, (1.0, 0.0, 1.0, 0.0), strict=True)
        )
        return cls(
            scores,
            best_epoch,
            epochs,
            from_json(float, content["seconds"], "seconds"),
            from_json(numbers, content["lambda_max"], "lambda_max"),
            from_json(numbers, content.get("neighbour_share", []), "neighbour_share"),
            from_json(tuple[RestartResult, ...], content.get("starts", []), "starts"),
            history,
            Calibration(temperature=temperature, power=power, size=size, uniform_share=share),
            num_test,
        )


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1f} %"


def _in_a_row(values: Sequence[float]) -> str:
    """Few numbers one by one, of many the lowest and the highest."""
    if len(values) <= _MOST_LISTED:
        return ", ".join(f"{value:.2f}" for value in values).replace("-", "−")
    return f"{min(values):.2f} to {max(values):.2f}, {len(values)} of them".replace("-", "−")


def _score_names() -> list[str]:
    """The names of all scores of a result, the test nodes' first."""
    test, val = ([f"{part}_{name}" for name in METRICS] for part in ("test", "val"))
    return [*test, *val, "val_loss", "train_accuracy"]
