"""What the ops promise beside their numbers, which test_launch.py and test_fused.py check."""

import pytest
import torch

pytest.importorskip("triton")

from akgnn.ops import triton_ops
from akgnn.ops.dropout import Noise, dropout, dropped_lanes
from akgnn.ops.launch import Mask

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("block_r", [1, 4, 16])
@pytest.mark.parametrize("block_c", [1, 8, 32])
def test_a_mask_does_not_depend_on_how_work_is_shared_out(block_r, block_c):
    x = torch.randn(2, 11, 13)
    keys = torch.tensor([Noise(seed).key(3) for seed in (1, 2)])
    out = torch.empty_like(x, device=DEVICE)
    grid = (-(-11 // block_r), -(-13 // block_c), 2)
    triton_ops.enter[grid](
        x.to(DEVICE),
        out,
        None,
        None,
        Mask(keys.to(DEVICE), *dropped_lanes(0.4), 0, 13),
        1.0,
        11,
        13,
        1,
        SYMMETRIC=False,
        BACKWARD=False,
        BLOCK_R=block_r,
        BLOCK_C=block_c,
    )
    torch.testing.assert_close(out.cpu(), dropout(x, 0.4, keys), rtol=1e-6, atol=0)
