"""Dense rows that lie in several arrays, a part in each, and are looked at part by part."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

Change = Callable[[Tensor, Tensor], Tensor]
"""What is made of the rows of a part, given with the ids of their nodes."""


class PartRows(Tensor):
    """A tensor of all rows, to who does not know better: torch puts it together if need be.

    The ops of the first linear map take one part after the other, so that features may stay in
    files. What is to be done to rows before, such as dropout, waits until they are taken.

    Args:
        parts: The rows of each part.
        ids: The number of each row's node in the whole graph, for each part.
        changes: What is made of the rows of a part when they are taken, one after the other.
    """

    parts: tuple[Tensor, ...]
    ids: tuple[Tensor, ...]
    changes: tuple[Change, ...]

    def __new__(
        cls, parts: Sequence[Tensor], ids: Sequence[Tensor], changes: Sequence[Change] = ()
    ) -> Self:
        """Take the arrays as they are, without a copy."""
        shape = (sum(map(len, parts)), parts[0].size(1))
        rows: Self = torch.Tensor._make_wrapper_subclass(
            cls, shape, dtype=parts[0].dtype, device=parts[0].device
        )
        rows.parts, rows.ids, rows.changes = tuple(parts), tuple(ids), tuple(changes)
        return rows

    def part(self, index: int) -> Tensor:
        """The rows of one part."""
        x, ids = self.parts[index], self.ids[index]
        for change in self.changes:
            x = change(x, ids)
        return x

    def then(self, change: Change) -> "PartRows":
        """The same rows with one more change to be made."""
        return PartRows(self.parts, self.ids, (*self.changes, change))

    def whole(self) -> Tensor:
        """All rows in one array."""
        return torch.cat([self.part(index) for index in range(len(self.parts))])

    def __repr__(self) -> str:  # type: ignore[override]
        return f"PartRows({len(self.parts)} parts, {self.size(0)} × {self.size(1)})"

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Put the rows together for an operation that knows nothing of parts."""
        args, kwargs = tree_map_only(PartRows, PartRows.whole, (args, kwargs or {}))
        return func(*args, **kwargs)
