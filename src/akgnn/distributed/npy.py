"""The bytes of an array file: NumPy's own format, of numbers only.

The same bytes are hashed wherever an array comes from, in memory or in a file.
"""

import hashlib
import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

KINDS = ("<i4", "<i8", "<f4", "<f8")
"""What arrays hold: integers and floating-point numbers, little-endian."""


def header_bytes(dtype: np.dtype[np.generic], shape: Sequence[int]) -> bytes:
    """What stands before the numbers in an `.npy` file of this type and shape."""
    stream = io.BytesIO()
    described = {"descr": dtype.str, "fortran_order": False, "shape": tuple(shape)}
    np.lib.format.write_array_header_1_0(stream, described)
    return stream.getvalue()


def as_array(values: Tensor) -> NDArray[np.generic]:
    """The numbers of a tensor on the CPU, in one piece."""
    return np.ascontiguousarray(values.detach().numpy())


def array_sha256(values: Tensor) -> str:
    """The SHA-256 of the file that would hold this tensor."""
    array = as_array(values)
    digest = hashlib.sha256(header_bytes(array.dtype, array.shape))
    digest.update(array.data)
    return digest.hexdigest()
