import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from akgnn.layers.dropout import DropoutKey
from akgnn.ops.dropout import Noise
from akgnn.training.strategies.perturbations import (
    random_directions,
    small_numbers,
    spread_nodes,
)
from oracles import dense, graphs

NOISE = Noise(0)


def directions(noise, rows):
    key = noise.key(DropoutKey.DIRECTIONS)
    return random_directions(rows, 60, torch.empty(5, 4, dtype=torch.float64), key)


def numbers(seed=0, *, nodes=2000, width=50, dtype=torch.float64):
    return small_numbers(nodes, torch.empty(width, 4, dtype=dtype), 0.01, Noise(seed).key(0))


@given(graphs(), st.integers(1, 5), st.integers(1, 2), st.integers(0, 99))
def test_receptive_fields_are_whole_and_do_not_overlap(graph, number, hops, seed):
    nodes, field = spread_nodes(graph, number, hops, Noise(seed).key(0))
    reach = torch.linalg.matrix_power(torch.eye(graph.num_nodes) + (dense(graph) > 0).float(), hops)
    assert 1 <= len(nodes) <= number
    for place, node in enumerate(nodes.tolist()):
        assert torch.equal(field == place, reach[node] > 0)


def test_directions_have_length_one_and_are_a_nodes_own():
    every, some = directions(NOISE, torch.arange(60)), torch.tensor([3, 17, 59])
    torch.testing.assert_close(every.norm(dim=1), torch.ones(60, dtype=torch.float64))
    assert torch.equal(directions(NOISE, some), every[some])
    assert abs(float(every.mean())) < 0.1
    assert len(every.unique()) == every.numel()


def test_small_numbers_are_normal_within_two_deviations():
    """Of 100,000 numbers the shares and moments lie within five standard errors."""
    found = numbers() / 0.01
    assert 1.99 < float(found.abs().max()) <= 2
    assert abs(float(found.mean())) < 0.014
    # 1 - 4 φ(2) / erf(√2), φ the normal density.
    assert float(found.std()) == pytest.approx(0.8796, abs=0.008)
    # erf(1 / √2) / erf(√2).
    assert float((found.abs() < 1).double().mean()) == pytest.approx(0.7152, abs=0.008)


def test_small_numbers_differ_from_each_other_and_from_those_of_another_seed():
    one, other = numbers(), numbers(1)
    assert len(one.unique()) > 0.99 * one.numel()
    assert abs(float(torch.corrcoef(torch.stack([one.view(-1), other.view(-1)]))[0, 1])) < 0.02
    assert (
        abs(float(torch.corrcoef(torch.stack([one[:-1].view(-1), one[1:].view(-1)]))[0, 1])) < 0.02
    )


def test_small_numbers_repeat_and_do_not_depend_on_the_blocks_they_are_drawn_in():
    assert torch.equal(numbers(), numbers())
    assert torch.equal(numbers(nodes=3), numbers()[:3])


def test_small_numbers_have_the_dtype_of_the_weights():
    single = numbers(dtype=torch.float32)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), numbers(), rtol=1e-4, atol=1e-7)
