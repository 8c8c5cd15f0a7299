"""The manifest of a folder of parts: what it must say, and what a stranger's may not.

It holds no paths: it says which arrays there are, their types, shapes and checksums, and it has a
checksum of itself.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from akgnn.arrays import KINDS, MOST, ArrayFile
from akgnn.codec import MISFITS, cause_of, from_json
from akgnn.csr import index_dtype
from akgnn.distributed.costs import CutCosts
from akgnn.distributed.parts import PartsFacts, content_of
from akgnn.errors import DataError
from akgnn.files import json_text, parse_json, read_file

MANIFEST = "parts.json"
FORMAT, VERSION = "akgnn-parts", 1
SETS = ("train", "val", "test")
"""The arrays that say which rows train, choose the epoch and test."""
_MOST_MANIFEST_BYTES = 2**28
_FLOATS = ("<f4", "<f8")
_FLOATING = ("<f2", *_FLOATS)


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
    first = manifest.parts[0].arrays
    for index, part in enumerate(manifest.parts):
        _check_arrays(index, part.arrays, facts)
        for name, file in part.arrays.items():
            if file.dtype in _FLOATING and file.dtype != first[name].dtype:
                raise ValueError(
                    f"array {name} of part {index} holds {file.dtype}, but {first[name].dtype} in "
                    "part 0"
                )
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
        **dict.fromkeys(SETS, (("<i8",), (None,))),
    }
    sides = [""] if facts.is_symmetric else ["", "transpose_"]
    for side in sides:
        expected[f"{side}rowptr"] = (("<i8",), (n + 1,))
        expected[f"{side}col"] = ((id_kind,), (None,))
        if "value" in arrays:
            expected[f"{side}value"] = (_FLOATS, (None,))
    if "x" in arrays:
        expected["x"] = (_FLOATING, (n, facts.num_features))
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
