"""What is written down of every epoch."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class History:
    """Columns with one entry an epoch, measured without dropout after the epoch's step.

    Attributes:
        train_loss: Cross-entropy on the training nodes.
        train_accuracy: Per cent of the training nodes.
        val_loss: Cross-entropy on the validation nodes.
        val_accuracy: Per cent of the validation nodes.
        lambda_max: λ of every layer; empty lists for models without.
        val_roc_auc: ROC-AUC in per cent of the validation nodes. No entries at all unless these
            are of two classes, and in runs from before there was this column.
    """

    train_loss: list[float] = field(default_factory=list)
    train_accuracy: list[float] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)
    val_accuracy: list[float] = field(default_factory=list)
    lambda_max: list[list[float]] = field(default_factory=list)
    val_roc_auc: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.val_loss)

    def append(self, **row: Any) -> None:
        """Add one epoch: a value for every column; of `val_roc_auc` there may be none."""
        epoch = len(self)
        for name, column in vars(self).items():
            # A run that was begun without the column goes on without it.
            if name != "val_roc_auc" or (name in row and len(column) == epoch):
                column.append(row[name])

    def to_dict(self) -> dict[str, Any]:
        """The columns by name."""
        return asdict(self)
