import pytest
import torch

from akgnn.training.batched.stacked import Captured


@pytest.mark.gpu
def test_a_replay_does_the_work_again():
    total, x = (torch.zeros(3, device="cuda") for _ in range(2))

    def add():
        total.add_(x + 1)
        return 2 * total

    captured = Captured(add, [total])
    # What trying it out changed is put back.
    assert total.tolist() == [0, 0, 0]
    assert captured().tolist() == [2, 2, 2]
    x.fill_(4)
    assert captured().tolist() == [12, 12, 12]
    assert total.tolist() == [6, 6, 6]
