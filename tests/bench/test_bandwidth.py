import torch

from akgnn.bench.bandwidth import copy_task


def test_a_copy_reads_and_writes_every_byte():
    copy, moved = copy_task(torch.device("cpu"), 1000)
    target = copy()
    assert moved == 2000
    assert target.numel() == 1000
    assert not target.any()
