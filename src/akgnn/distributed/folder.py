"""A folder of parts: one folder a part with plain arrays, beside the manifest.

What is read is checked as if a stranger had written it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from akgnn.arrays import ArrayFile
from akgnn.csr import CSR, Pattern, first_not_finite
from akgnn.distributed.costs import CutCosts
from akgnn.distributed.manifest import MANIFEST, SETS, Manifest, read_manifest
from akgnn.distributed.parts import Part, PartsFacts, PartSplit, Rows
from akgnn.errors import AkgnnError, DataError
from akgnn.files import file_sha256


@dataclass(frozen=True, eq=False)
class FolderParts:
    """Parts that lie in a folder; their arrays are memory maps, which cannot be written to."""

    path: Path
    manifest: Manifest

    @property
    def facts(self) -> PartsFacts:
        """What is true of the whole graph."""
        return self.manifest.facts

    @property
    def costs(self) -> CutCosts:
        """What the cut comes to."""
        return self.manifest.costs

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return self.facts.num_parts

    def part(self, index: int) -> Part:
        """One of the parts, counted from 0.

        Raises:
            DataError: A file of it is missing or is not what it must be.
        """
        if not 0 <= index < self.num_parts:
            raise IndexError(f"{self.path} has the parts 0 to {self.num_parts - 1}, not {index}.")
        files = self.manifest.parts[index].arrays
        arrays = {name: self._array(index, name, file) for name, file in files.items()}
        n = len(arrays["ids"])
        x: Tensor | CSR
        try:
            if "x" in arrays:
                x = arrays["x"]
            else:
                shape = n, self.facts.num_features
                pattern = Pattern(arrays["x_rowptr"], arrays["x_col"], shape, copy=False)
                x = CSR(pattern, arrays.get("x_value"))
        except AkgnnError as error:
            raise DataError(f"{self._folder(index)}: the features are wrong. {error}") from error
        return Part(
            index=index,
            ids=arrays["ids"],
            rowptr=arrays["rowptr"],
            col=arrays["col"],
            value=arrays.get("value"),
            degree=arrays["degree"],
            x=x,
            y=arrays["y"],
            split=PartSplit(self.facts.split_name, *(arrays[name] for name in SETS)),
            transpose=_transpose(arrays),
        )

    def check(self, index: int) -> None:
        """Read all of a part, and refuse what is not as it was written or does not fit together.

        Raises:
            DataError: It is not.
        """
        for name, file in self.manifest.parts[index].arrays.items():
            path = self._file(index, name, file)
            if file_sha256(path) != file.sha256:
                raise DataError(
                    f"{path} is damaged or of another cut: its checksum is not the one in "
                    f"{MANIFEST}; write the folder again with akgnn partition."
                )
        wrong = _what_is_wrong(self.part(index), self.facts)
        if wrong is not None:
            raise DataError(f"{self._folder(index)} does not fit together: {wrong}.")

    def _folder(self, index: int) -> Path:
        return self.path / part_folder(index)

    def _file(self, index: int, name: str, file: ArrayFile) -> Path:
        """The path of an array that is a file, of the right size, inside the folder."""
        path = self._folder(index) / f"{name}.npy"
        try:
            is_inside = not (path.is_symlink() or path.parent.is_symlink())
            size = path.stat().st_size if is_inside and path.is_file() else None
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
        if size is None:
            raise DataError(
                f"{path} is missing, or is no plain file; write the folder again with akgnn "
                "partition."
            )
        if size != file.num_bytes:
            raise DataError(
                f"{path} has {size:,} bytes, but {MANIFEST} says {file.num_bytes:,}; it is damaged "
                "or of another cut."
            )
        return path

    def _array(self, index: int, name: str, file: ArrayFile) -> Tensor:
        path = self._file(index, name, file)
        try:
            return file.read(path)
        except (OSError, ValueError) as error:
            cause = getattr(error, "strerror", None) or error
            raise DataError(f"{path} cannot be read: {cause}.") from error


def open_parts(path: Path | str, *, check: bool = True) -> FolderParts:
    """Open a folder that `akgnn partition` wrote.

    Args:
        path: The folder.
        check: Whether to read all files and compare their checksums. Sizes are looked at in any
            case; `FolderParts.check` looks at one part.

    Raises:
        DataError: It is no such folder, or something in it is not as it was written.
    """
    path = Path(path)
    parts = FolderParts(path, read_manifest(path))
    for index in range(parts.num_parts):
        if check:
            parts.check(index)
        else:
            for name, file in parts.manifest.parts[index].arrays.items():
                parts._file(index, name, file)
    return parts


def part_folder(index: int) -> str:
    """The name of the folder of a part."""
    return f"part-{index:05d}"


def _transpose(arrays: Mapping[str, Tensor]) -> Rows | None:
    if "transpose_rowptr" not in arrays:
        return None
    return arrays["transpose_rowptr"], arrays["transpose_col"], arrays.get("transpose_value")


def _what_is_wrong(part: Part, facts: PartsFacts) -> str | None:
    """Why the arrays of a part do not fit together; None where they do.

    The products index memory with them unchecked.
    """
    if not _rises(part.ids, facts.num_nodes):
        return "ids do not rise, or lie outside the graph"
    if int(part.y.min()) < -1 or int(part.y.max()) >= facts.num_classes:
        return "labels are of unknown classes"
    for name in SETS:
        rows = getattr(part.split, name)
        if not _rises(rows, part.num_nodes) or bool((part.y[rows] < 0).any()):
            return f"the {name} rows do not rise, lie outside or have no label"
    sides = [(part.rowptr, part.col, part.value)]
    sides += [] if part.transpose is None else [part.transpose]
    for rowptr, col, value in sides:
        is_rising = bool((rowptr[1:] >= rowptr[:-1]).all())
        if int(rowptr[0]) != 0 or int(rowptr[-1]) != len(col) or not is_rising:
            return "rowptr does not rise from 0 to the number of entries"
        if len(col) and (int(col.min()) < 0 or int(col.max()) >= facts.num_nodes):
            return "col mentions a node outside the graph"
        if value is not None and first_not_finite(value) is not None:
            return "a weight is not finite"
    if first_not_finite(part.degree) is not None:
        return "a degree is not finite"
    numbers = part.x if isinstance(part.x, Tensor) else part.x.value
    if numbers is not None and first_not_finite(numbers) is not None:
        return "a feature is not finite"
    return None


def _rises(values: Tensor, size: int) -> bool:
    """Whether the values rise, all from 0 to size - 1."""
    if not len(values):
        return True
    is_inside = int(values[0]) >= 0 and int(values[-1]) < size
    return is_inside and bool((torch.diff(values) > 0).all())
