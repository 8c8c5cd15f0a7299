import pytest
import torch

from akgnn.machine.memory import peak_of_tensors

CPU = torch.device("cpu")
X = torch.ones(1000)
"""Of 4000 bytes."""


def peak(task):
    return peak_of_tensors(task, CPU)


def test_what_is_alive_at_once_is_added_up():
    def task():
        first = torch.zeros(1000)
        second = torch.zeros(500, dtype=torch.float64)
        return first, second

    assert peak(task) == 8000


def test_what_is_freed_makes_room():
    def task():
        first = torch.zeros(1000)
        del first
        return torch.zeros(500)

    assert peak(task) == 4000


def test_views_and_changes_in_place_take_nothing():
    def task():
        made = torch.zeros(1000)
        return made.view(10, 100)[2:].t().add_(1)

    assert peak(task) == 4000


def test_what_was_there_before_does_not_count():
    assert peak(lambda: X.view(10, 100).sum(1)) == 40
    assert peak(lambda: X[:10]) == 0


def test_what_backward_needs_stays():
    def chain(x):
        for _ in range(5):
            x = x.exp()
        return x

    with torch.no_grad():
        assert peak(lambda: chain(X)) == 2 * 4000
    assert peak(lambda: chain(X.clone().requires_grad_())) == 6 * 4000


def test_a_peak_inside_is_not_forgotten_at_the_end():
    # Both factors are there while their product is made; the sum of 4 bytes comes later.
    assert peak(lambda: (X[:, None] * torch.ones(1, 50)).sum()) == 50 * 4000 + 50 * 4


def test_each_task_is_counted_anew():
    kept = []
    assert peak(lambda: kept.append(torch.zeros(1000))) == 4000
    assert peak(lambda: kept.clear() or torch.zeros(500)) == 2000


@pytest.mark.gpu
def test_a_gpu_is_asked_itself():
    device = torch.device("cuda")
    before = torch.zeros(2**20, device=device)
    found = peak_of_tensors(lambda: (before + 1).sum(), device)
    assert 4 * 2**20 <= found < 5 * 2**20
