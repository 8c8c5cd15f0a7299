"""Compressed sparse rows: the one sparse storage, for graphs and for features.

Checks go over the arrays block by block: what they need beside them stays small however many
entries there are.
"""

from collections.abc import Iterator
from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import Any

import torch
from scipy import sparse
from torch import Tensor

from akgnn.errors import DeviceError, GraphError

_INT32_MAX = 2**31 - 1
# Entries looked at at a time.
_BLOCK = 2**21
# Rows with more entries are summed on a GPU in pieces of so many; tuned on an H200.
LONGEST_ROW, _SEGMENT = 128, 64
# Rows that are put into an order of their own.
_WINDOW = 4096


@dataclass(frozen=True, eq=False)
class Segments:
    """Pieces of the long `rows`: the entries `start` to `stop - 1`.

    Row i has the pieces `ptr[i]` to `ptr[i + 1] - 1`; none if it is not long.
    """

    rows: Tensor
    ptr: Tensor
    start: Tensor
    stop: Tensor


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where the entries of a sparse matrix stand: immutable, and fully checked when built.

    The products index memory with these arrays unchecked, so a wrong entry would not raise an
    error there but end the interpreter. Indices are kept as int32 while they fit: it is half
    the memory traffic. `rowptr` counts entries and `col` columns, so one may fit without the other.

    Attributes:
        rowptr: Row i holds the entries `rowptr[i]` to `rowptr[i + 1] - 1`.
        col: The column of every entry, ascending within a row unless said otherwise.
        shape: Numbers of rows and columns.

    Args:
        copy: False only for arrays that nobody else holds: others may change after the check.
        ascending: False for columns in an order of their own, in which products add them up.
    """

    rowptr: Tensor
    col: Tensor
    shape: tuple[int, int]
    copy: InitVar[bool] = True
    ascending: InitVar[bool] = True

    def __post_init__(self, copy: bool, ascending: bool) -> None:
        check_integers("rowptr", self.rowptr)
        check_integers("col", self.col)
        rows, columns = self.shape
        if self.rowptr.shape != (rows + 1,):
            raise GraphError(
                f"rowptr must have one entry more than the {rows} rows, "
                f"got shape {list(self.rowptr.shape)}."
            )
        if self.col.dim() != 1:
            raise GraphError(f"col must have one dimension, got shape {list(self.col.shape)}.")
        self._check_rowptr()
        if self.col.numel():
            check_range("col mentions column", self.col, "num_columns", columns)
        if ascending:
            self._check_order()
        for name, largest in (("rowptr", self.col.numel()), ("col", columns)):
            indices = getattr(self, name).to(index_dtype(largest), copy=copy)
            object.__setattr__(self, name, indices.contiguous())

    def _check_rowptr(self) -> None:
        first, last = int(self.rowptr[0]), int(self.rowptr[-1])
        if first != 0 or last != self.col.numel() or not _rises(self.rowptr):
            raise GraphError(
                f"rowptr must rise from 0 to the number of entries, {self.col.numel()}; "
                f"it starts at {first} and ends at {last}."
            )

    def _check_order(self) -> None:
        last = self.col.numel() - 1
        for start in range(0, last, _BLOCK):
            stop = min(start + _BLOCK, last)
            rises = self.col[start + 1 : stop + 1] > self.col[start:stop]
            # From one row to the next columns may fall.
            begins = self.rowptr[self._rows_that_begin(start + 1, stop + 1)].long()
            rises[begins - (start + 1)] = True
            if not bool(rises.all()):
                raise GraphError("Columns must rise within each row, without repeats.")

    def _rows_that_begin(self, start: int, stop: int) -> slice:
        """The rows whose first entry, or place for one, is among `start` to `stop - 1`."""
        bounds = torch.tensor([start, stop], dtype=self.rowptr.dtype, device=self.rowptr.device)
        first, last = torch.searchsorted(self.rowptr.contiguous(), bounds).tolist()
        return slice(first, last)

    @cached_property
    def row(self) -> Tensor:
        """The row of every entry."""
        return _repeated(self.rowptr.diff(), max(self.shape))

    def blocks(self) -> Iterator[tuple[slice, Tensor]]:
        """All entries a block at a time, each block with the row of its entries."""
        entries = self.col.numel()
        if entries <= _BLOCK:
            yield slice(0, entries), self.row
            return
        for start in range(0, entries, _BLOCK):
            stop = min(start + _BLOCK, entries)
            begun = self._rows_that_begin(start + 1, stop)
            # The row before the first that begins inside the block holds the entry `start`.
            first = begun.start - 1
            ends = self.rowptr[begun.start : begun.stop + 1].clamp(max=stop)
            lengths = ends.diff(prepend=ends.new_tensor([start]))
            yield slice(start, stop), _repeated(lengths, max(self.shape)).add_(first)

    @cached_property
    def segments(self) -> "Segments | None":
        """The long rows cut into pieces; None where no row is long."""
        counts = self.rowptr.diff()
        if not counts.numel() or int(counts.max()) <= LONGEST_ROW:
            return None
        is_long = counts > LONGEST_ROW
        pieces = torch.where(is_long, -(-counts // _SEGMENT), 0)
        ptr = torch.zeros_like(self.rowptr)
        torch.cumsum(pieces, 0, out=ptr[1:])
        rows = torch.arange(self.shape[0], device=self.col.device).repeat_interleave(pieces)
        piece = torch.arange(rows.numel(), device=self.col.device) - ptr[rows]
        start = self.rowptr[rows] + piece * _SEGMENT
        stop = torch.minimum(start + _SEGMENT, self.rowptr[rows + 1])
        return Segments(is_long.nonzero().view(-1), ptr, start, stop)

    @cached_property
    def order(self) -> Tensor:
        """The rows, those of a window by falling length.

        Rows of like length side by side keep a GPU's threads, which wait for the longest, busy.
        Neighbours stay close, so that what is read for one is at hand for the next.
        """
        counts = self.rowptr.diff()
        length = torch.where(counts > LONGEST_ROW, 0, counts).long()
        window = torch.arange(self.shape[0], device=self.col.device) // _WINDOW
        key = window * (LONGEST_ROW + 1) + LONGEST_ROW - length
        return torch.argsort(key, stable=True).to(self.col.dtype)

    @cached_property
    def transpose_order(self) -> Tensor:
        """Where the entries of the transpose stand in this pattern."""
        return torch.argsort(self.col, stable=True)

    @cached_property
    def transpose(self) -> "Pattern":
        """The transposed pattern."""
        rowptr = rowptr_from_rows(self.col, self.shape[1])
        row = self.row[self.transpose_order]
        return Pattern(rowptr, row, (self.shape[1], self.shape[0]), copy=False)

    def side_by_side(self, number: int) -> tuple[Tensor, Tensor]:
        """`rowptr` and `col` of the pattern so many times along a diagonal.

        One product with it is a product for each of several signals that lie one below the other.
        """
        held: tuple[Tensor, Tensor] | None = self.__dict__.get("_diagonal")
        rows, columns = self.shape
        if held is None or len(held[0]) <= number * rows:
            dtype = index_dtype(number * max(columns, self.col.numel()))
            block = torch.arange(number, dtype=dtype, device=self.col.device).unsqueeze(1)
            starts = self.rowptr[:-1] + block * self.col.numel()
            rowptr = torch.cat([starts.view(-1), (block[-1] + 1) * self.col.numel()])
            held = rowptr, (self.col + block * columns).view(-1)
            # Kept for the next product; fewer are the beginning of more.
            self.__dict__["_diagonal"] = held
        return held[0][: number * rows + 1], held[1][: number * self.col.numel()]

    def to(self, device: torch.device | str) -> "Pattern":
        """The same pattern on another device."""
        return Pattern(self.rowptr.to(device), self.col.to(device), self.shape, copy=False)


@dataclass(frozen=True, eq=False)
class CSR:
    """An immutable sparse matrix.

    Attributes:
        pattern: Where its entries stand.
        value: The entries, finite, or None where all of them are 1. Several rows of them stand for
            as many matrices of one pattern, one for each replica.
    """

    pattern: Pattern
    value: Tensor | None = None

    @classmethod
    def from_arrays(
        cls, rowptr: Tensor, col: Tensor, value: Tensor | None, shape: tuple[int, int]
    ) -> "CSR":
        """Build from the usual three arrays, all checked and copied."""
        if value is not None:
            check_values("value", value, col.numel())
            value = value.clone()
        return cls(Pattern(rowptr, col, shape), value)

    def __post_init__(self) -> None:
        if self.value is None:
            return
        if self.value.dim() > 2 or self.value.shape[-1:] != self.pattern.col.shape:
            raise GraphError(
                f"value must have one number for each of the {self.num_entries} entries, "
                f"got shape {list(self.value.shape)}."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.pattern.shape

    @property
    def num_entries(self) -> int:
        """Number of stored entries."""
        return self.pattern.col.numel()

    @property
    def device(self) -> torch.device:
        """Where the matrix lies."""
        return self.pattern.col.device

    @property
    def transpose(self) -> "CSR":
        """The transposed matrix."""
        if self.value is None:
            return CSR(self.pattern.transpose)
        value = self.value.index_select(-1, self.pattern.transpose_order)
        return CSR(self.pattern.transpose, value)

    def to(self, device: torch.device | str) -> "CSR":
        """The same matrix on another device; itself if it lies there already."""
        if is_device(self.device, device):
            return self
        value = None if self.value is None else self.value.to(device)
        return CSR(self.pattern.to(device), value)

    def to_dense(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """The matrix with its zeros written out; for small ones."""
        shape = self.shape if self.value is None else (*self.value.shape[:-1], *self.shape)
        dense = torch.zeros(shape, dtype=dtype, device=self.device)
        value = dense.new_ones(()) if self.value is None else self.value.to(dense)
        dense[..., self.pattern.row.long(), self.pattern.col.long()] = value
        return dense

    def to_scipy(self) -> Any:
        """The same as SciPy's `csr_array`, of a matrix on the CPU."""
        value = torch.ones(self.num_entries) if self.value is None else self.value
        arrays = value.numpy(), self.pattern.col.numpy(), self.pattern.rowptr.numpy()
        return sparse.csr_array(arrays, shape=self.shape)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"CSR({rows} × {columns}, {self.num_entries} entries)"


def is_device(device: torch.device, name: torch.device | str) -> bool:
    """Whether `name` is this device; `cuda` is the present GPU, such as cuda:0."""
    try:
        return torch.empty(0, device=name).device == device
    except (RuntimeError, AssertionError, TypeError) as error:
        # torch lists every device that it has ever had.
        raise DeviceError(
            f"Device {name!r} is unknown or not to be had here; choose from cpu, cuda, cuda:1 and "
            "so on."
        ) from error


def index_dtype(largest: int) -> torch.dtype:
    """The smaller of the two integer types that holds indices up to `largest`."""
    return torch.int32 if largest <= _INT32_MAX else torch.int64


def _repeated(times: Tensor, largest: int) -> Tensor:
    """0, 1, … each as often as `times` says, in the type that holds `largest`."""
    return torch.repeat_interleave(times.to(index_dtype(largest)))


def _rises(values: Tensor) -> bool:
    """Whether no value is below the one before it."""
    pairs = zip(values[:-1].split(_BLOCK), values[1:].split(_BLOCK), strict=True)
    # Compared, not subtracted: the difference of two int32 may not be one.
    return not any(bool((after < before).any()) for before, after in pairs)


def rowptr_from_rows(row: Tensor, num_rows: int) -> Tensor:
    """Where each row starts, given the row of every entry."""
    rowptr = torch.zeros(num_rows + 1, dtype=torch.int64, device=row.device)
    torch.cumsum(torch.bincount(row, minlength=num_rows), 0, out=rowptr[1:])
    return rowptr


def check_tensor(name: str, value: object) -> None:
    """Refuse NumPy arrays, lists and the like."""
    if not isinstance(value, Tensor):
        kind = type(value).__name__
        raise GraphError(f"{name} must be a torch tensor, got {kind}; torch.as_tensor converts it.")
    if value.is_meta:
        raise GraphError(f"{name} lies on the device meta, so it holds no numbers.")


def check_integers(name: str, indices: Tensor) -> None:
    """Refuse anything but integer indices."""
    check_tensor(name, indices)
    if indices.dtype not in (torch.int32, torch.int64):
        raise GraphError(f"{name} must hold int32 or int64, got {indices.dtype}.")


def check_range(mention: str, indices: Tensor, size_name: str, size: int) -> None:
    """Refuse indices outside 0 to size - 1."""
    lowest, highest = (int(bound) for bound in torch.aminmax(indices))
    if lowest < 0 or highest >= size:
        wrong = lowest if lowest < 0 else highest
        allowed = f"0 to {size - 1}" if size else "none"
        raise GraphError(f"{mention} {wrong}, but {size_name}={size} allows {allowed}.")


def check_values(name: str, value: Tensor, num_entries: int) -> None:
    """Refuse values that learn, of another length, no floating-point numbers, or not finite."""
    check_tensor(name, value)
    if value.requires_grad:
        raise GraphError(
            f"{name} requires a gradient, but the matrix is fixed; pass {name}.detach()."
        )
    if value.shape != (num_entries,):
        raise GraphError(
            f"{name} must have one number for each of the {num_entries} entries, "
            f"got shape {list(value.shape)}."
        )
    if not value.is_floating_point():
        raise GraphError(f"{name} must hold floating-point numbers, got {value.dtype}.")
    where = first_not_finite(value)
    if where is not None:
        raise GraphError(f"{name} holds {float(value[where])} at position {where}.")


def first_not_finite(values: Tensor) -> int | None:
    """Where in a tensor, counted over all its numbers, the first stands that is NaN or infinite."""
    values = values.reshape(-1)
    for start in range(0, values.numel(), _BLOCK):
        finite = torch.isfinite(values[start : start + _BLOCK])
        if not bool(finite.all()):
            return start + int((~finite).nonzero()[0])
    return None


def check_scipy(name: str, matrix: Any) -> None:
    """Refuse a SciPy sparse matrix whose arrays do not fit together.

    SciPy trusts them, and reads and writes beyond their ends where they are wrong.

    Raises:
        GraphError: They do not.
    """
    compressed = {"csr": sparse.csr_array, "csc": sparse.csc_array, "bsr": sparse.bsr_array}
    kind = compressed.get(matrix.format)
    try:
        if kind is None:
            # The constructor checks the indices.
            sparse.coo_array(matrix)
        else:
            # A view of the arrays, since the check may put other ones in their place.
            parts = (matrix.data, matrix.indices, matrix.indptr)
            kind(parts, shape=matrix.shape).check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        cause = " ".join(str(error).split())
        raise GraphError(f"{name} is a damaged {matrix.format} matrix: {cause}.") from error
