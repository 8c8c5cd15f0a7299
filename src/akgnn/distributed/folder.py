"""A folder of parts: one folder a part with plain arrays, and a manifest that says what they are.

What is read is checked as if a stranger had written it. The manifest holds no paths; it says which
arrays there are, their types, shapes and checksums, and a checksum of itself.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from akgnn.arrays import KINDS, MOST, ArrayFile
from akgnn.codec import MISFITS, cause_of, from_json
from akgnn.csr import CSR, Pattern, first_not_finite, index_dtype
from akgnn.distributed.costs import CutCosts
from akgnn.distributed.parts import Part, PartsFacts, PartSplit, Rows, content_of
from akgnn.errors import AkgnnError, DataError
from akgnn.files import file_sha256, json_text, parse_json, read_file

MANIFEST = "parts.json"
FORMAT, VERSION = "akgnn-parts", 1
_MOST_MANIFEST_BYTES = 2**28
_FLOATS = ("<f4", "<f8")
_SETS = ("train", "val", "test")


@dataclass(frozen=True)
class PartFiles:
    """The arrays of a part by their names."""

    arrays: dict[str, ArrayFile]


@dataclass(frozen=True)
class Manifest:
    """What a folder of parts says of itself.

    Attributes:
        facts: What is true of the whole graph.
        costs: What the cut comes to.
        parts: The arrays of each part.
        versions: What wrote it: akgnn, torch and NumPy.
    """

    facts: PartsFacts
    costs: CutCosts
    parts: tuple[PartFiles, ...]
    versions: dict[str, str]


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
            split=PartSplit(self.facts.split_name, *(arrays[name] for name in _SETS)),
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


def manifest_text(content: Mapping[str, Any]) -> str:
    """A manifest with its format, version and checksum."""
    content = {"format": FORMAT, "version": VERSION, **content}
    return json_text({**content, "checksum": _checksum(content)}, indent=1)


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json_text(content, compact=True).encode()).hexdigest()


def read_manifest(path: Path) -> Manifest:
    """The manifest of a folder, all of it checked.

    Raises:
        DataError: There is none, or it is damaged, foreign or of another version.
    """
    file = path / MANIFEST
    if not path.is_dir():
        raise DataError(f"{path} is no folder of parts; akgnn partition writes one.")
    if file.is_symlink() or not file.is_file():
        raise DataError(f"{path} is no folder of parts: it has no {MANIFEST}.")
    try:
        content = parse_json(read_file(file, _MOST_MANIFEST_BYTES, DataError))
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"it does not say that it is {FORMAT}")
        if content.get("version") != VERSION:
            version = str(content.get("version"))[:20]
            raise DataError(
                f"{file} is of version {version!r}, but this akgnn reads version {VERSION}; "
                "write the folder again with akgnn partition."
            )
        if content.pop("checksum", None) != _checksum(content):
            raise ValueError("its checksum does not fit")
        manifest = from_json(Manifest, content, "the manifest")
        _check_manifest(manifest)
    except DataError:
        raise
    except (*MISFITS, RecursionError) as error:
        cause = " ".join(cause_of(error).split()) if isinstance(error, Exception) else str(error)
        raise DataError(f"{file} is damaged: {cause[:300]}.") from error
    return manifest


def _check_manifest(manifest: Manifest) -> None:
    """Refuse a manifest that contradicts itself.

    Raises:
        ValueError: It does; the message says where.
    """
    facts = manifest.facts
    starts = facts.starts
    if len(starts) < 2 or starts[0] != 0 or starts[-1] != facts.num_nodes:
        raise ValueError("starts do not run from 0 to the number of nodes")
    if any(low >= high for low, high in pairwise(starts)):
        raise ValueError("starts do not rise")
    if len(manifest.parts) != facts.num_parts:
        raise ValueError(f"it has {len(manifest.parts)} parts, but starts of {facts.num_parts}")
    if len(facts.class_counts) != facts.num_classes or sum(facts.class_counts) != facts.num_train:
        raise ValueError("class_counts do not count the training nodes")
    if not all(math.isfinite(mean) for mean in (facts.mean_degree, facts.mean_out_degree)):
        raise ValueError("a mean degree is no number")
    shares = [number for share in manifest.costs.shares for number in astuple(share)]
    if not 0 < facts.num_features <= MOST or max(shares, default=0) > MOST:
        raise ValueError("a number is 0 or larger than any can be")
    names = {tuple(sorted(part.arrays)) for part in manifest.parts}
    if len(names) != 1:
        raise ValueError("parts have different arrays")
    for index, part in enumerate(manifest.parts):
        _check_arrays(index, part.arrays, facts)
    for name, number in (
        ("col", facts.num_edges), ("train", facts.num_train), ("val", facts.num_val),
        ("test", facts.num_test),
    ):  # fmt: skip
        total = sum(part.arrays[name].shape[0] for part in manifest.parts)
        if total != number:
            raise ValueError(f"the parts have {total} of {name}, not {number}")
    digests = [{name: file.sha256 for name, file in part.arrays.items()} for part in manifest.parts]
    if content_of(facts, digests) != facts.content:
        raise ValueError("content does not name these facts and arrays")


def _check_arrays(index: int, arrays: Mapping[str, ArrayFile], facts: PartsFacts) -> None:
    """Refuse arrays that cannot be those of a part."""
    n = facts.starts[index + 1] - facts.starts[index]
    id_kind = KINDS[index_dtype(facts.num_nodes)]
    expected: dict[str, tuple[tuple[str, ...], tuple[int | None, ...]]] = {
        "ids": (("<i8",), (n,)),
        "degree": (_FLOATS, (n,)),
        "y": (("<i8",), (n,)),
        **dict.fromkeys(_SETS, (("<i8",), (None,))),
    }
    sides = [""] if facts.is_symmetric else ["", "transpose_"]
    for side in sides:
        expected[f"{side}rowptr"] = (("<i8",), (n + 1,))
        expected[f"{side}col"] = ((id_kind,), (None,))
        if "value" in arrays:
            expected[f"{side}value"] = (_FLOATS, (None,))
    if "x" in arrays:
        expected["x"] = (("<f2", *_FLOATS), (n, facts.num_features))
    else:
        expected["x_rowptr"] = (("<i4", "<i8"), (n + 1,))
        expected["x_col"] = ((KINDS[index_dtype(facts.num_features)],), (None,))
        if "x_value" in arrays:
            expected["x_value"] = (_FLOATS, (None,))
    if set(arrays) != set(expected):
        odd = sorted(set(arrays) ^ set(expected))[0][:40]
        raise ValueError(f"part {index} has not the arrays of a part ({odd!r})")
    for name, (kinds, shape) in expected.items():
        file = arrays[name]
        fits = len(file.shape) == len(shape) and all(
            want in (None, got) for want, got in zip(shape, file.shape, strict=True)
        )
        if file.dtype not in kinds or not fits:
            raise ValueError(f"array {name} of part {index} is of another type or shape")
        beside = name.replace("value", "col")
        if beside != name and file.shape != arrays[beside].shape:
            raise ValueError(f"array {name} of part {index} has another length than {beside}")


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
    for name in _SETS:
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
