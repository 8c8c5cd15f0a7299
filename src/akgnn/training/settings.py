"""Settings of training."""

from dataclasses import dataclass
from typing import Literal

from akgnn.errors import SettingsError, suggest
from akgnn.settings import Settings, count, non_negative, positive, whole
from akgnn.training.metrics import METRICS

# Adam divides a rate by numbers below 1, and the quotient has to be a float32 still.
_LARGEST_RATE = 1e30


@dataclass(frozen=True, kw_only=True)
class TrainSettings(Settings):
    """How a model is trained; the defaults are the paper's.

    Attributes:
        learning_rate: Learning rate of Adam.
        weight_decay: L2 penalty on weight matrices and φ.
        decay_biases: Whether biases are penalised too.
        decay_first_layer_only: Whether nothing but the model's first layer is penalised.
        phi_learning_rate: Learning rate of the kernels' scalars φ; if None the kernel's own, else
            as above.
        phi_weight_decay: Penalty on the kernels' scalars φ; if None the kernel's own, else as
            above.
        phi_warm_up: For how many epochs φ rests at its initial value.
        several_starts: False trains from the kernel's own initial value alone, not from each of
            those it is best trained from.
        same_starts: True trains every kernel from the same initial values, as comparisons need:
            GCN's, fixed, and neighbours that weigh as much as a node itself, or a hundredth of it.
        phi_decays_to: Where the decay draws φ to: zero, that is λ = 1, or its initial value, λ = 2.
        epochs: The most epochs.
        patience: Stop after so many epochs without a better validation score.
        stop_on: Which validation score chooses the epoch: `loss`; a metric such as `accuracy` or,
            of two classes, `roc_auc` (ties by loss); `either`: loss, with a patience that a better
            accuracy renews too; or `both`: the last epoch at which neither loss nor accuracy was
            worse than before, with the same patience.
        class_weight: Whether training nodes weigh alike in the loss, or `balanced`: all classes do.
    """

    learning_rate: float = positive(0.01, most=_LARGEST_RATE)
    weight_decay: float = non_negative(5e-4)
    decay_biases: bool = False
    decay_first_layer_only: bool = False
    phi_learning_rate: float | None = positive(None, most=_LARGEST_RATE)
    phi_weight_decay: float | None = non_negative(None)
    phi_warm_up: int = whole(0)
    several_starts: bool = True
    same_starts: bool = False
    phi_decays_to: Literal["zero", "start"] = "zero"
    epochs: int = count(2000)
    patience: int = count(100)
    stop_on: str = "loss"
    class_weight: Literal["none", "balanced"] = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        choices = ("loss", "either", "both", *METRICS)
        if self.stop_on not in choices:
            raise SettingsError(
                f"stop_on={self.stop_on!r} is no score to stop on. {suggest(self.stop_on, choices)}"
            )
