import pytest
import torch

from akgnn.ops import triton_backend
from akgnn.ops.triton_backend import is_fused


@pytest.fixture
def _no_triton(monkeypatch):
    monkeypatch.setattr(triton_backend, "find_spec", lambda name: None)
    triton_backend._has_triton.cache_clear()
    yield
    triton_backend._has_triton.cache_clear()


class OnGPU:
    """As much of a tensor on a GPU as is asked for."""

    is_cuda = True

    def __init__(self, dtype):
        self.dtype = dtype


def test_a_processor_has_its_own_way():
    assert not is_fused(torch.zeros(2, 2))


def test_float64_stays_with_pytorch():
    assert not is_fused(OnGPU(torch.float64))


@pytest.mark.usefixtures("_no_triton")
def test_that_triton_is_missing_is_said_once():
    with pytest.warns(UserWarning, match=r"pip install 'akgnn\[gpu\]'"):
        assert not is_fused(OnGPU(torch.float32))
    # A second warning would be an error here.
    assert not is_fused(OnGPU(torch.bfloat16))


def test_with_triton_a_gpu_takes_the_fused_ops():
    pytest.importorskip("triton")
    assert is_fused(OnGPU(torch.float32))
