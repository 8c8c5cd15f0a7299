"""Whether signals go through the Triton ops."""

import warnings
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def is_fused(h: Tensor) -> bool:
    """Whether the Triton ops take this signal: on a GPU, in float32 or lower."""
    return h.is_cuda and h.dtype in _DTYPES and _has_triton()


@cache
def _has_triton() -> bool:
    """Whether Triton is installed; says once if it is missed."""
    if find_spec("triton") is not None:
        return True
    warnings.warn(
        "Triton is not installed, so PyTorch's own operations are used on the GPU, which take "
        "two to three times as long; pip install 'akgnn[gpu]' brings it.",
        stacklevel=2,
    )
    return False
