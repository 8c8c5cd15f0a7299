"""NumPy archives in the layout of the bundled graphs."""

import hashlib
import io
import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from akgnn.data.bundled import from_arrays
from akgnn.data.node_data import NodeData
from akgnn.errors import AkgnnError, DataError

_INDICES = ("adj_indptr", "adj_indices", "x_indptr", "x_indices", "x_shape", "y")
_SETS = ("train", "val", "test")
_DAMAGED = (OSError, ValueError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error)


def load_npz(path: Path | str) -> NodeData:
    """Read an archive with the arrays that `akgnn.data.bundled.from_arrays` lists, no pickles."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = dict(archive)
    except (*_DAMAGED, TypeError) as error:
        raise DataError(f"{path} is damaged or no archive of NumPy arrays ({error}).") from error
    source = {"origin": "npz", "sha256": hashlib.sha256(content).hexdigest()}
    try:
        _check(arrays)
        return from_arrays(path.stem, arrays, source)
    except AkgnnError as error:
        raise DataError(f"{path}: {error}") from error


def _check(arrays: dict[str, NDArray[np.generic]]) -> None:
    kinds = dict.fromkeys((*_INDICES, *_SETS), "iu") | {"x_data": "biuf", "class_names": "U"}
    optional = ("x_data", "class_names")
    for key, kind in kinds.items():
        array = arrays.get(key)
        if array is None:
            if key not in optional:
                raise DataError(f"there is no array {key!r}; it has {', '.join(sorted(arrays))}.")
        elif array.ndim != 1 or array.dtype.kind not in kind:
            raise DataError(f"{key} has shape {list(array.shape)} of {array.dtype}.")
    if not len(arrays["y"]) or len(arrays["x_shape"]) != 2:
        raise DataError("y must not be empty, and x_shape must hold two numbers.")
    for name in arrays.get("class_names", ()):
        if not str(name).isprintable():
            raise DataError(f"the class name {str(name)!r} cannot be printed.")
