"""Signals that wait for the backward pass, in files."""

import pytest
import torch
from torch import Tensor

from akgnn.distributed import signal_files
from akgnn.distributed.signal_files import signals_in_files

LARGE = (2**9, 2**9)


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """The arrays that were made in files."""
    made: list[Tensor] = []
    write = signal_files.in_nameless_file

    def write_and_tell(signal: Tensor) -> Tensor:
        made.append(write(signal))
        return made[-1]

    monkeypatch.setattr(signal_files, "in_nameless_file", write_and_tell)
    return made


def gradient(x: Tensor) -> Tensor:
    x = x.detach().requires_grad_()
    h = x.exp()
    (h.relu() * h).sum().backward()
    assert x.grad is not None
    return x.grad


def test_gradients_have_the_same_bits(files: list[Tensor]):
    x = torch.randn(LARGE)
    expected = gradient(x)
    assert not files
    with signals_in_files():
        assert torch.equal(gradient(x), expected)
    # e^x, which two operations keep, once, and its positive part.
    assert len(files) == 2


def test_a_signal_in_the_place_of_another_is_one_of_its_own(files: list[Tensor]):
    with signals_in_files():
        for number in (1.0, 2.0):
            h = torch.full(LARGE, number).requires_grad_().exp()
            h.sum().backward()
            assert float(files[-1][0, 0]) == float(h.detach()[0, 0])
            del h
    assert len(files) == 2


def test_what_is_small_stays_in_memory(files: list[Tensor]):
    with signals_in_files():
        gradient(torch.randn(8, 8))
    assert not files


def test_two_halves_of_a_signal_are_two(files: list[Tensor]):
    x = torch.randn(2, *LARGE)
    weight = torch.ones(2, requires_grad=True)
    with signals_in_files():
        (x[0] * weight[0] + x[1] * weight[1]).sum().backward()
    assert len(files) == 2
    torch.testing.assert_close(weight.grad, x.sum((1, 2)))


def test_a_signal_that_changed_is_written_anew(files: list[Tensor]):
    x = torch.ones(LARGE)
    weight = torch.ones((), requires_grad=True)
    with signals_in_files():
        first = (x * weight).sum()
        x += 1
        second = (x * weight).sum()
    first.backward()
    assert float(weight.grad) == x.numel()
    second.backward()
    assert float(weight.grad) == 3 * x.numel()
