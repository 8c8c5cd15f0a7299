import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from akgnn.csr import CSR
from akgnn.errors import SettingsError
from akgnn.hashing import finalise_, signed
from akgnn.ops import dropout as module
from akgnn.ops.dropout import (
    Masking,
    Noise,
    dropout,
    dropout_entries,
    entry_blocks,
    kept_nodes,
    signal_blocks,
)
from oracles import sparse

KEY = Noise(seed=7, step=3).key(1)
INCREMENT = 0x9E3779B97F4A7C15
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def finalised(z: int) -> int:
    """The last three lines of splitmix64 as it is published."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def splitmix64(state: int) -> int:
    return finalised((state + INCREMENT) % 2**64)


def some_keys(number: int) -> list[int]:
    return [Noise(seed=number, step=step).key(step % 5) for step in range(number)]


def mask_reference(nodes, channels: int, rate: float, key: int) -> np.ndarray:
    """The module's docstring word by word, in whole numbers without end."""
    groups = math.ceil(channels / 4)
    key %= 2**64
    multiplier = splitmix64(key) | 1
    mask = np.empty((len(nodes), channels), dtype=bool)
    for row, node in enumerate(nodes):
        for channel in range(channels):
            position = finalised((int(node) * groups + channel // 4) * INCREMENT % 2**64)
            w = (position ^ key) * multiplier % 2**64
            lane = ((w ^ (w >> 32)) >> (16 * (channel % 4))) % 2**16
            signed = lane - 2**16 if lane >= 2**15 else lane
            mask[row, channel] = signed >= round(rate * 65536) - 32768
    return mask


@pytest.mark.parametrize("device", DEVICES)
@given(st.integers(1, 40), st.integers(1, 11), st.floats(0.01, 0.99), st.integers(0, 2**63))
def test_equals_the_hash_written_out(device, nodes, channels, rate, key):
    out = dropout(torch.ones(nodes, channels, device=device), rate, Noise(key).key(0)).cpu()
    expected = mask_reference(np.arange(nodes), channels, rate, Noise(key).key(0))
    assert np.array_equal((out != 0).numpy(), expected)


def test_many_blocks_equal_one_hash():
    nodes = torch.cat([torch.arange(7), torch.arange(29_900, 30_000)])
    out = dropout(torch.ones(30_000, 9), 0.6, KEY)[nodes]
    assert np.array_equal((out != 0).numpy(), mask_reference(nodes, 9, 0.6, KEY))


@pytest.mark.parametrize("shape", [(50, 7), (70_000, 5)])
def test_in_place_is_the_same(shape):
    h, masking = torch.randn(shape), Masking.here(0.4, KEY)
    expected = masking.dropped(h)
    assert masking.drop_(h) is h
    assert torch.equal(h, expected)


def test_positions_of_many_parts_are_not_kept(monkeypatch):
    monkeypatch.setattr(module, "_MOST_WORDS_KEPT", 30)
    h, few, many = torch.ones(10, 4), torch.arange(10), torch.arange(10)
    masking = Masking.here(0.5, KEY)
    kept = [masking.of_part(h, ids, of=of) for ids, of in ((few, 30), (many, 31))]
    assert torch.equal(*kept)
    assert few in module._KEPT_ROWS
    assert many not in module._KEPT_ROWS


def test_positions_too_many_to_keep_give_the_same_mask(monkeypatch):
    h = torch.ones(5000, 30)
    entries = CSR.from_arrays(
        torch.arange(5001), torch.arange(5000) % 30, torch.ones(5000), (5000, 30)
    )
    masks = []
    for most in (2**21, 10):
        monkeypatch.setattr("akgnn.ops.dropout._MOST_WORDS_KEPT", most)
        masks.append((dropout(h, 0.6, KEY), dropout_entries(entries, 0.6, KEY)))
    assert all(torch.equal(one, other) for one, other in zip(*masks, strict=True))


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.6, 0.9])
def test_the_rate_is_right(rate):
    values = torch.ones(100_000, 16)
    dropped = [float((dropout(values, rate, key) == 0).double().mean()) for key in some_keys(20)]
    error = math.sqrt(rate * (1 - rate) / values.numel())
    # Each within five standard deviations of a fair draw, and their mean to four digits.
    assert max(abs(share - rate) for share in dropped) < 5 * error
    assert abs(np.mean(dropped) - rate) < min(1e-4 + 1 / 65536, 5 * error)


def test_kept_values_are_scaled_to_keep_the_mean():
    out = dropout(torch.full((50, 8), 3.0), 0.6, KEY)
    torch.testing.assert_close(out[out != 0].unique(), torch.tensor([7.5]), rtol=1e-4, atol=0)


def correlation(one, other):
    """Of two masks at rate 1/2, in standard errors."""
    agreement = (one == other).double().mean() * 2 - 1
    return float(agreement) * math.sqrt(one.numel())


@pytest.mark.parametrize("rate", [0.5, 0.9])
def test_lanes_and_nodes_of_a_mask_are_unrelated(rate):
    """Over 12.8 million draws; at a rate of 0.9 the highest bits of a lane decide together."""
    h, sums = torch.ones(20_000, 16), torch.zeros(9)
    keys = some_keys(40)
    for key in keys:
        kept = dropout(h, rate, key).ne(0).float() - (1 - rate)
        lanes = [kept[:, lane::4] for lane in range(4)]
        pairs = [*itertools.combinations(lanes, 2), (kept[:, :-4], kept[:, 4:])]
        pairs += [(kept[1:], kept[:-1]), (kept[64:], kept[:-64])]
        sums += torch.tensor([float((a * b).sum()) / math.sqrt(a.numel()) for a, b in pairs])
    errors = sums / (rate * (1 - rate) * math.sqrt(len(keys)))
    assert float(errors.abs().max()) < 4.5


@pytest.mark.parametrize("other", [{"seed": 1}, {"step": 1}, {"name": 1}, {"seed": 1, "step": 1}])
def test_masks_of_neighbouring_seeds_steps_and_names_are_unrelated(other):
    """12.8 million draws of forty pairs; no pair stands out and neither do all together."""
    h, base = torch.ones(20_000, 16), {"seed": 0, "step": 0, "name": 0}

    def mask(seed, step, name):
        return dropout(h, 0.5, Noise(seed, step).key(name)) != 0

    errors = []
    for number in range(40):
        one = {name: value + number for name, value in base.items()}
        two = {name: value + other.get(name, 0) for name, value in one.items()}
        errors.append(correlation(mask(**one), mask(**two)))
    assert max(map(abs, errors)) < 4.5
    assert abs(sum(errors)) / math.sqrt(40) < 4


def test_seed_step_and_name_are_not_interchangeable():
    keys = {
        Noise(seed, step).key(name) for seed in range(4) for step in range(4) for name in range(4)
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


def test_keys_are_those_of_the_docstring():
    seed, step, name = 2**62 + 5, 17, 1_000_003
    key = splitmix64(splitmix64(splitmix64(seed) ^ step) ^ name)
    assert Noise(seed, step).key(name) % 2**64 == key
    several = Noise(torch.tensor([3, seed]), torch.tensor([9, step])).key(name)
    assert several.tolist() == [Noise(3, 9).key(name), Noise(seed, step).key(name)]


@pytest.mark.parametrize("device", DEVICES)
def test_every_replica_drops_what_it_drops_alone(device):
    keys = Noise(torch.tensor([4, 0, 9]), torch.tensor([0, 2, 2])).key(5).to(device)
    h = torch.randn(3, 40, 10, device=device, requires_grad=True)
    out = dropout(h, 0.6, keys)
    out.backward(torch.ones_like(out))
    x = sparse(torch.randn(40, 10)).to(device)
    entries = dropout_entries(x, 0.6, keys)
    nodes = kept_nodes(40, 0.6, keys, h.device)
    for number, key in enumerate(keys.tolist()):
        alone = h[number].detach().clone().requires_grad_()
        dropped = dropout(alone, 0.6, key)
        dropped.backward(torch.ones_like(dropped))
        assert torch.equal(out[number], dropped)
        assert torch.equal(h.grad[number], alone.grad)
        assert torch.equal(entries[number], dropout_entries(x, 0.6, key))
        assert torch.equal(nodes[number], kept_nodes(40, 0.6, key, h.device))


def test_a_key_may_be_a_tensor_of_one():
    h = torch.randn(30, 7)
    assert torch.equal(dropout(h, 0.5, torch.tensor(KEY)), dropout(h, 0.5, KEY))
    x = sparse(h)
    one, other = (dropout_entries(x, 0.5, key) for key in (torch.tensor(KEY), KEY))
    assert torch.equal(one, other)
    with pytest.raises(SettingsError, match="2 replicas need as many keys, got 3"):
        dropout(torch.ones(2, 5, 5), 0.5, torch.arange(3))


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
    with pytest.raises(SettingsError, match=r"takes \(nodes, channels\), or .* got shape \[3\]"):
        dropout(torch.ones(3), 0.5, KEY)


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.5, 0.9, 1 - 2**-53])
def test_nodes_are_kept_at_the_right_rate(rate):
    number = 100_000
    kept = kept_nodes(number, rate, Noise(0).key(0), torch.device("cpu"))
    error = math.sqrt(number * rate * (1 - rate))
    assert abs(int(kept.sum()) - number * (1 - rate)) <= 5 * error + 1e-6
    with pytest.raises(SettingsError, match="below 1"):
        kept_nodes(3, 1.0, 0, torch.device("cpu"))


@pytest.mark.parametrize("noise", [Noise(3, 5), Noise(torch.tensor([3, -1]), torch.tensor([5, 0]))])
def test_keys_of_several_names_are_those_of_each(noise):
    names = [0, 1, 1_000, 1_000_000]
    for key, name in zip(noise.keys(names), names, strict=True):
        assert torch.equal(torch.as_tensor(key), torch.as_tensor(noise.key(name)))


NODES = torch.tensor([7, 0, 3, 9, 100])


def by_the_formula(nodes, groups):
    """T = S((node · groups + group) · INCREMENT)."""
    counter = nodes[:, None] * groups + torch.arange(groups)
    return finalise_(counter * signed(INCREMENT))


@pytest.mark.parametrize("at_once", [1, 4, 2**16])
@pytest.mark.parametrize("most_kept", [0, 2**21])
@pytest.mark.parametrize("node_ids", [None, NODES])
@pytest.mark.parametrize("channels", [1, 4, 5, 11])
def test_blocks_of_a_signal_are_the_formula(channels, node_ids, most_kept, at_once, monkeypatch):
    monkeypatch.setattr(module, "_MOST_WORDS_KEPT", most_kept)
    monkeypatch.setattr(module, "_WORDS_AT_ONCE", at_once)
    blocks = list(signal_blocks(torch.ones(5, channels), node_ids))
    assert [row for rows, _ in blocks for row in range(rows.start, rows.stop)] == list(range(5))
    nodes = torch.arange(5) if node_ids is None else node_ids
    expected = by_the_formula(nodes, -(-channels // 4))
    assert torch.equal(torch.cat([positions for _, positions in blocks]), expected)


@pytest.mark.parametrize("at_once", [1, 3, 2**16])
@pytest.mark.parametrize("most_kept", [0, 2**21])
@pytest.mark.parametrize("node_ids", [None, NODES])
def test_entries_stand_where_the_dense_matrix_has_them(node_ids, most_kept, at_once, monkeypatch):
    monkeypatch.setattr(module, "_MOST_WORDS_KEPT", most_kept)
    monkeypatch.setattr(module, "_WORDS_AT_ONCE", at_once)
    x = sparse((torch.rand(5, 11) < 0.4).float())
    _, positions, shifts = zip(*entry_blocks(x, node_ids), strict=True)
    row, col = x.pattern.row.long(), x.pattern.col.long()
    nodes = torch.arange(5) if node_ids is None else node_ids
    assert torch.equal(torch.cat(positions), by_the_formula(nodes, 3)[row, col // 4])
    assert torch.equal(torch.cat(shifts), col % 4 * 16)
