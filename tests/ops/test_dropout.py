import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from akgnn.csr import CSR
from akgnn.errors import SettingsError
from akgnn.ops.dropout import Noise, dropout, dropout_entries, kept_nodes

KEY = Noise(seed=7, step=3).key(1)
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def splitmix64(counter: np.ndarray, key: int) -> np.ndarray:
    """The hash as it is published, in unsigned arithmetic."""
    with np.errstate(over="ignore"):
        z = counter.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(key % 2**64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def mask_reference(nodes: np.ndarray, channels: int, rate: float, key: int) -> np.ndarray:
    """Value by value: lane (channel % 4) of word (node · groups + channel // 4)."""
    groups = math.ceil(channels / 4)
    channel = np.arange(channels)
    words = splitmix64(nodes[:, None] * groups + channel // 4, key)
    lanes = (words >> (16 * (channel % 4)).astype(np.uint64)).astype(np.uint16).astype(np.int16)
    return lanes.astype(np.int64) + 32768 >= round(rate * 65536)


@pytest.mark.parametrize("device", DEVICES)
@given(st.integers(1, 40), st.integers(1, 11), st.floats(0.01, 0.99), st.integers(0, 2**63))
def test_equals_the_hash_written_out(device, nodes, channels, rate, key):
    out = dropout(torch.ones(nodes, channels, device=device), rate, Noise(key).key(0)).cpu()
    expected = mask_reference(np.arange(nodes), channels, rate, Noise(key).key(0))
    assert np.array_equal((out != 0).numpy(), expected)


def test_many_blocks_equal_one_hash():
    nodes, channels = 30_000, 9
    out = dropout(torch.ones(nodes, channels), 0.6, KEY)
    assert np.array_equal((out != 0).numpy(), mask_reference(np.arange(nodes), channels, 0.6, KEY))


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.6, 0.9])
def test_the_rate_is_right(rate):
    values = torch.ones(100_000, 16)
    dropped = float((dropout(values, rate, KEY) == 0).double().mean())
    # Five standard deviations of a fair draw.
    assert abs(dropped - rate) < 5 * math.sqrt(rate * (1 - rate) / values.numel())


def test_kept_values_are_scaled_to_keep_the_mean():
    out = dropout(torch.full((50, 8), 3.0), 0.6, KEY)
    torch.testing.assert_close(out[out != 0].unique(), torch.tensor([7.5]), rtol=1e-4, atol=0)


def test_masks_of_other_seeds_steps_places_lanes_and_nodes_are_unrelated():
    def mask(seed, step, place):
        return dropout(torch.ones(20_000, 8), 0.5, Noise(seed, step).key(place)) != 0

    base = mask(0, 0, 0).double() - 0.5
    others = [mask(1, 0, 0), mask(0, 1, 0), mask(0, 0, 1), mask(1, 1, 0), mask(0, 1, 1)]
    others += [mask(0, 0, 0).roll(1, 0), mask(0, 0, 0).roll(1, 1), mask(0, 0, 0).roll(4, 1)]
    for other in others:
        correlation = float((base * (other.double() - 0.5)).mean() * 4)
        assert abs(correlation) < 5 / math.sqrt(base.numel())


def test_seed_step_and_place_are_not_interchangeable():
    keys = {
        Noise(seed, step).key(place) for seed in range(4) for step in range(4) for place in range(4)
    }
    assert len(keys) == 64


def test_part_of_a_graph_drops_what_the_whole_graph_drops():
    h = torch.randn(50, 6)
    nodes = torch.tensor([41, 3, 17])
    assert torch.equal(dropout(h[nodes], 0.6, KEY, nodes), dropout(h, 0.6, KEY)[nodes])


@pytest.mark.parametrize("rate", [0.3, 0.6])
def test_sparse_features_drop_what_dense_ones_drop(rate):
    features = torch.randn(300, 70) * (torch.rand(300, 70) < 0.1)
    row, col = features.nonzero().unbind(1)
    rowptr = torch.zeros(301, dtype=torch.int64)
    rowptr[1:] = torch.bincount(row, minlength=300).cumsum(0)
    sparse = CSR.from_arrays(rowptr, col, features[row, col], (300, 70))
    dropped = CSR(sparse.pattern, dropout_entries(sparse, rate, KEY))
    torch.testing.assert_close(dropped.to_dense(), dropout(features, rate, KEY))
    ones = CSR(sparse.pattern)
    whole = dropout(torch.ones(300, 70), rate, KEY)
    torch.testing.assert_close(dropout_entries(ones, rate, KEY), whole[row, col])
    nodes = torch.arange(300) + 1000
    moved = CSR(sparse.pattern, dropout_entries(sparse, rate, KEY, nodes))
    torch.testing.assert_close(moved.to_dense(), dropout(features, rate, KEY, nodes))


def test_gradcheck():
    h = torch.randn(5, 6, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda h: dropout(h, 0.5, KEY), h)


def test_masks_are_recomputed_not_stored():
    h = torch.randn(5, 6, requires_grad=True)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        dropout(h, 0.5, KEY)
    assert not kept


def test_no_generator_is_touched():
    before = torch.get_rng_state()
    dropout(torch.randn(5, 6, generator=torch.Generator()), 0.5, KEY)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions_have_the_same_mask(dtype):
    h = torch.ones(40, 7, dtype=dtype)
    out = dropout(h, 0.6, KEY)
    assert out.dtype == dtype
    assert torch.equal(out != 0, dropout(h.float(), 0.6, KEY) != 0)


def test_rate_zero_keeps_the_very_tensor():
    h = torch.randn(3, 3)
    assert dropout(h, 0.0, KEY) is h


@pytest.mark.parametrize("rate", [-0.1, 1.0, math.nan])
def test_wrong_rates_are_refused(rate):
    with pytest.raises(SettingsError, match="at least 0 and below 1"):
        dropout(torch.ones(2, 2), rate, KEY)


def test_sparse_features_keep_their_precision_and_take_short_node_ids():
    value = torch.rand(4, dtype=torch.float64)
    x = CSR.from_arrays(torch.tensor([0, 2, 4]), torch.tensor([0, 3, 1, 2]), value, (2, 4))
    wide, nodes = x.to_dense(torch.float64), torch.tensor([7, 2**30], dtype=torch.int32)
    found = CSR(x.pattern, dropout_entries(x, 0.5, KEY, nodes)).to_dense(torch.float64)
    assert torch.equal(found, dropout(wide, 0.5, KEY, nodes))


def test_no_channels_are_no_error_and_one_dimension_is_a_clear_one():
    assert dropout(torch.ones(3, 0), 0.5, KEY).shape == (3, 0)
    with pytest.raises(SettingsError, match=r"takes \(nodes, channels\), got shape \[3\]"):
        dropout(torch.ones(3), 0.5, KEY)


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.5, 0.9, 1 - 2**-53])
def test_nodes_are_kept_at_the_right_rate(rate):
    number = 100_000
    kept = kept_nodes(number, rate, Noise(0).key(0), torch.device("cpu"))
    error = math.sqrt(number * rate * (1 - rate))
    assert abs(int(kept.sum()) - number * (1 - rate)) <= 5 * error + 1e-6
    with pytest.raises(SettingsError, match="below 1"):
        kept_nodes(3, 1.0, 0, torch.device("cpu"))
