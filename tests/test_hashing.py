import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from akgnn.hashing import mix, words_


def splitmix64(counter: np.ndarray, key: int) -> np.ndarray:
    """The hash as it is published, in unsigned arithmetic."""
    with np.errstate(over="ignore"):
        z = counter.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(key % 2**64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


@given(st.integers(0, 2**62), st.integers(-(2**63), 2**63 - 1))
def test_words_are_those_of_splitmix64(first, key):
    counter = np.arange(first, first + 5)
    expected = splitmix64(counter, key).astype(np.int64)
    assert words_(torch.from_numpy(counter), key).tolist() == expected.tolist()


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_single_number_is_mixed_alike(value):
    assert mix(value) == int(splitmix64(np.ones(1), value).astype(np.int64)[0])
