"""What is written down of every epoch."""

from dataclasses import asdict, dataclass, field
from typing import Any

OPTIONAL = ("val_roc_auc", "neighbour_share", "start")


@dataclass
class History:
    """Columns with one entry an epoch, measured without dropout after the epoch's step.

    Attributes:
        train_loss: Cross-entropy on the training nodes.
        train_accuracy: Per cent of the training nodes.
        val_loss: Cross-entropy on the validation nodes.
        val_accuracy: Per cent of the validation nodes.
        lambda_max: λ of every layer; empty lists for models without.
        val_roc_auc: ROC-AUC in per cent of the validation nodes, if these are of two classes.
        neighbour_share: What every layer takes from neighbours, for models with adaptive kernels.
        start: Which of several starts the epoch belongs to, from 0 on.

    The last three have no entries at all where they say nothing, and in runs from before there were
    these columns.
    """

    train_loss: list[float] = field(default_factory=list)
    train_accuracy: list[float] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)
    val_accuracy: list[float] = field(default_factory=list)
    lambda_max: list[list[float]] = field(default_factory=list)
    val_roc_auc: list[float] = field(default_factory=list)
    neighbour_share: list[list[float]] = field(default_factory=list)
    start: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.val_loss)

    def append(self, **row: Any) -> None:
        """Add one epoch: a value for every column that has to have one."""
        epoch = len(self)
        for name, column in vars(self).items():
            # A run that was begun without the column goes on without it.
            if name not in OPTIONAL or (name in row and len(column) == epoch):
                column.append(row[name])

    def row(self, epoch: int) -> dict[str, Any]:
        """One epoch, counted from 0, by the names of the columns that have an entry for it."""
        return {name: column[epoch] for name, column in vars(self).items() if epoch < len(column)}

    def of_start(self, number: int) -> "History":
        """The epochs of one of several starts, as if it had been the only one."""
        kept = [epoch for epoch, start in enumerate(self.start) if start == number]
        columns = {
            name: [column[epoch] for epoch in kept] if column else []
            for name, column in vars(self).items()
            if name != "start"
        }
        return History(**columns)

    def to_dict(self) -> dict[str, Any]:
        """The columns by name."""
        return asdict(self)
