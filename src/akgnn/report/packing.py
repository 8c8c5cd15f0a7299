"""What a page carries compressed; the script `theme.js` reads it again.

Base64 of deflated bytes is what a page can hold anywhere and every browser can read without asking
for anything: the drawing library takes 0.53 MB so, where its text takes 1.19.
"""

import base64
import zlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray


def deflated(content: bytes) -> str:
    """Bytes as compressed text, in which nothing can end an HTML element."""
    # Raw: the browser's `deflate-raw`.
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base64.b64encode(packer.compress(content) + packer.flush()).decode()


@cache
def deflated_asset(name: str) -> str:
    """A file that comes with akgnn as compressed text."""
    return deflated((files("akgnn.report") / "assets" / name).read_bytes())


def joined(arrays: Mapping[str, NDArray[Any]]) -> tuple[list[tuple[str, str, int]], bytes]:
    """Arrays as bytes, and how the script finds them there: their names, types and lengths.

    The first bytes of all numbers of an array come first, then the second ones: like bytes side by
    side compress better.
    """
    listed, parts = [], []
    for name, array in arrays.items():
        plain = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
        bytes_ = plain.reshape(-1, 1).view(np.uint8).reshape(-1, array.itemsize)
        listed.append((name, f"{array.dtype.kind}{8 * array.itemsize}", int(array.size)))
        parts.append(bytes_.T.tobytes())
    return listed, b"".join(parts)
