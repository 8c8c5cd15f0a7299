"""Settings of training."""

from dataclasses import dataclass
from typing import Literal

from akgnn.settings import Settings, count, non_negative, positive


@dataclass(frozen=True, kw_only=True)
class TrainSettings(Settings):
    """How a model is trained; the defaults are the paper's.

    Attributes:
        learning_rate: Of Adam.
        weight_decay: L2 penalty on weight matrices and φ.
        decay_biases: Whether biases are penalised too.
        phi_learning_rate: Of the kernels' scalars φ, where it differs.
        phi_weight_decay: Of the kernels' scalars φ, where it differs.
        epochs: The most epochs.
        patience: Stop after so many epochs without a better validation score.
        stop_on: Whether validation loss or validation accuracy (ties by loss) is the score.
    """

    learning_rate: float = positive(0.01)
    weight_decay: float = non_negative(5e-4)
    decay_biases: bool = False
    phi_learning_rate: float | None = positive(None)
    phi_weight_decay: float | None = non_negative(None)
    epochs: int = count(2000)
    patience: int = count(100)
    stop_on: Literal["loss", "accuracy"] = "loss"
