"""Settings of training."""

from dataclasses import dataclass
from typing import Literal

from akgnn.settings import Settings, count, non_negative, positive, whole
from akgnn.training.early_stopping import StopOn


@dataclass(frozen=True, kw_only=True)
class TrainSettings(Settings):
    """How a model is trained; the defaults are the paper's.

    Attributes:
        learning_rate: Of Adam.
        weight_decay: L2 penalty on weight matrices and φ.
        decay_biases: Whether biases are penalised too.
        decay_first_layer_only: Whether nothing but the model's first layer is penalised.
        phi_learning_rate: Of the kernels' scalars φ; if None the kernel's own, else as above.
        phi_weight_decay: Of the kernels' scalars φ; if None the kernel's own, else as above.
        phi_warm_up: For how many epochs φ rests at its start.
        several_starts: False trains from the kernel's own start alone, not from each of those it
            is best trained from.
        phi_decays_to: Where the decay draws φ to: zero, that is λ = 1, or its start, λ = 2.
        epochs: The most epochs.
        patience: Stop after so many epochs without a better validation score.
        stop_on: Whether validation loss, validation accuracy or, of two classes, validation
            ROC-AUC (ties by loss) is the score, or loss with a patience that `either` renews.
        class_weight: Whether training nodes weigh alike in the loss, or `balanced`: all classes do.
    """

    learning_rate: float = positive(0.01)
    weight_decay: float = non_negative(5e-4)
    decay_biases: bool = False
    decay_first_layer_only: bool = False
    phi_learning_rate: float | None = positive(None)
    phi_weight_decay: float | None = non_negative(None)
    phi_warm_up: int = whole(0)
    several_starts: bool = True
    phi_decays_to: Literal["zero", "start"] = "zero"
    epochs: int = count(2000)
    patience: int = count(100)
    stop_on: StopOn = "loss"
    class_weight: Literal["none", "balanced"] = "none"
