"""What is written down of every epoch."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from akgnn.codec import from_json

_OPTIONAL = ("neighbour_share", "start")


@dataclass
class History:
    """Columns with one entry an epoch, measured without dropout after the epoch's step.

    Attributes:
        train_loss: Cross-entropy on the training nodes.
        train_accuracy: Accuracy on the training nodes, in per cent.
        val_loss: Cross-entropy on the validation nodes.
        val_accuracy: Accuracy on the validation nodes, in per cent.
        lambda_max: λ of every layer; empty lists for models without.
        neighbour_share: What every layer takes from neighbours, for models with adaptive kernels.
        start: Which of several restarts the epoch belongs to, from 0 on.
        scores: Other metrics on the validation nodes by column, such as `val_roc_auc` of two
            classes; each is an attribute of the history too.

    The last three have no entries at all where they say nothing, and in runs from before there were
    these columns.
    """

    train_loss: list[float] = field(default_factory=list)
    train_accuracy: list[float] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)
    val_accuracy: list[float] = field(default_factory=list)
    lambda_max: list[list[float]] = field(default_factory=list)
    neighbour_share: list[list[float]] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    scores: dict[str, list[float]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> list[float]:
        if name.startswith("val_"):
            scores: dict[str, list[float]] = self.__dict__.get("scores", {})
            return scores.get(name, [])
        raise AttributeError(f"A history has no {name!r}; it has {', '.join(vars(self))}.")

    def __len__(self) -> int:
        return len(self.val_loss)

    def column(self, name: str) -> list[Any]:
        """The entries of one column; none where it was not measured."""
        entries: list[Any] = getattr(self, name)
        return entries

    def append(self, **row: Any) -> None:
        """Add one epoch: a value for every column that has to have one."""
        epoch = len(self)
        known = self.to_dict()
        for name in row.keys() - known.keys():
            # A run that was begun without the column goes on without it.
            known[name] = self.scores.setdefault(name, []) if not epoch else []
        for name, column in known.items():
            if name in self.scores:
                # A score may have no meaning at some epochs; the column stays whole.
                column.append(row.get(name, math.nan))
            elif name not in _OPTIONAL or (name in row and len(column) == epoch):
                column.append(row[name])

    def row(self, epoch: int) -> dict[str, Any]:
        """One epoch, counted from 0, by the names of the columns that have an entry for it."""
        return {
            name: column[epoch] for name, column in self.to_dict().items() if epoch < len(column)
        }

    def of_restart(self, number: int) -> "History":
        """The epochs of one of several restarts, as if it had been the only one."""
        epochs = [epoch for epoch, start in enumerate(self.start) if start == number]
        columns = {
            name: [column[epoch] for epoch in epochs] if column else []
            for name, column in self.to_dict().items()
            if name != "start"
        }
        return History._of(columns)

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns by name."""
        own = {name: column for name, column in vars(self).items() if name != "scores"}
        return {**own, **self.scores}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "History":
        """The history that `to_dict` wrote; a `ValueError` if its columns do not fit together."""
        names = [name for name in vars(cls()) if name != "scores"]
        required = [name for name in names if name not in _OPTIONAL]
        columns = {name: content[name] for name in required}
        columns |= {name: content.get(name, []) for name in content if name not in required}
        nested = ("lambda_max", "neighbour_share")
        kinds: dict[str, Any] = dict.fromkeys(nested, list[list[float]]) | {"start": list[int]}
        parsed = {
            name: from_json(kinds.get(name, list[float]), column, f"the column {name}")
            for name, column in columns.items()
        }
        length = len(parsed["val_loss"])
        for name, column in parsed.items():
            if len(column) != length and (column or name in required):
                raise ValueError(f"the column {name} of the history has another length")
            if name in nested and len(set(map(len, column))) > 1:
                raise ValueError(f"the column {name} of the history has rows of other lengths")
        start = parsed.get("start", [])
        # The first restart is 0, and each follows the one before.
        if any(number - before not in (0, 1) for before, number in pairwise([0, *start])):
            raise ValueError("the column start of the history does not count restarts")
        return cls._of(parsed)

    @classmethod
    def _of(cls, columns: Mapping[str, list[Any]]) -> "History":
        own = {name: columns[name] for name in vars(cls()) if name in columns}
        others = {name: column for name, column in columns.items() if name not in own and column}
        return cls(**own, scores=others)
