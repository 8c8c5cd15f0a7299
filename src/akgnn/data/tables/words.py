"""Texts as words: hashed, counted, and weighted by the inverse document frequency."""

import zlib

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from akgnn.data.tables.recipe import MOST_WORDS, TextColumn
from akgnn.data.tables.table import pa, pc

_BETWEEN_WORDS = r"[^\p{L}\p{N}]+"
# So many values of a hash: few enough to be kept as numbers, and two words seldom share one.
_HASHES = 2**30
# A text is judged by the first of them.
_SAMPLE = 2000
_LONGEST_WORD = 64


def words_a_text(texts: pa.ChunkedArray) -> float:
    """How many words a text has, on average."""
    offsets, _ = _split(texts[:_SAMPLE])
    return float(len(offsets) > 1 and offsets[-1] / (len(offsets) - 1))


def repeat_themselves(texts: pa.ChunkedArray) -> bool:
    """Whether the words of texts are found in others too, most of them."""
    _, words = _split(texts[:_SAMPLE])
    counts = pc.value_counts(words).field("counts").to_numpy()
    return bool(counts[counts > 1].sum() > 0.5 * counts.sum())


def learn_words(name: str, texts: pa.ChunkedArray) -> TextColumn | None:
    """The words that at least two texts have, with their weights; None if there are none.

    A word in d of n texts weighs 1 + log((1 + n) / (1 + d)).
    """
    counts = _counts(texts)
    frequency = np.bincount(counts.col, minlength=len(counts.hashes))
    several = np.flatnonzero(frequency > 1)
    if not len(several):
        return None
    # The most frequent; of equals the first by hash.
    most = several[np.argsort(-frequency[several], kind="stable")][:MOST_WORDS]
    kept = np.sort(most)
    weights = 1 + np.log((1 + len(texts)) / (1 + frequency[kept]))
    return TextColumn(name, tuple(counts.hashes[kept].tolist()), tuple(weights.tolist()))


def word_entries(
    column: TextColumn, texts: pa.ChunkedArray
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Rows, features and values of the words that a column knows, a row's of length 1."""
    counts = _counts(texts)
    known, weights = np.array(column.hashes), np.array(column.weights)
    place = np.searchsorted(known, counts.hashes).clip(max=len(known) - 1)
    is_known = known[place] == counts.hashes
    keep = is_known[counts.col]
    row, col = counts.row[keep], place[counts.col[keep]]
    value = counts.number[keep] * weights[col]
    length = np.sqrt(np.bincount(row, value**2, minlength=len(texts)))
    return row, col, (value / length[row]).astype(np.float32)


class _Counts:
    """How often each word stands in each text: `number` for text `row` and word `col`."""

    def __init__(self, hashes: NDArray[np.int64], matrix: sparse.coo_array) -> None:
        self.hashes = hashes
        self.row, self.col = matrix.row.astype(np.int64), matrix.col.astype(np.int64)
        self.number = matrix.data


def _counts(texts: pa.ChunkedArray) -> _Counts:
    offsets, words = _split(texts)
    encoded = words.dictionary_encode()
    hashed = np.array(
        [zlib.crc32(word.encode()) % _HASHES for word in encoded.dictionary.to_pylist()],
        dtype=np.int64,
    )
    hashes, place = np.unique(hashed, return_inverse=True)
    col = place[encoded.indices.to_numpy()] if len(hashes) else np.empty(0, dtype=np.int64)
    shape = len(offsets) - 1, max(len(hashes), 1)
    ones = np.ones(len(col))
    matrix = sparse.csr_array((ones, col, offsets), shape)
    matrix.sum_duplicates()
    return _Counts(hashes, matrix.tocoo())


def _split(texts: pa.ChunkedArray) -> tuple[NDArray[np.int64], pa.Array]:
    """The words of all texts in a row, in lower case, and where each text begins among them."""
    whole = pc.fill_null(texts.cast(pa.large_string()), "").combine_chunks()
    lower = pc.utf8_lower(whole)
    clean = pc.utf8_trim_whitespace(pc.replace_substring_regex(lower, _BETWEEN_WORDS, " "))
    lists = pc.split_pattern(clean, " ")
    words = lists.values
    offsets = np.asarray(lists.offsets.to_numpy(), dtype=np.int64)
    is_word = np.asarray(pc.not_equal(words, "").to_numpy(zero_copy_only=False))
    if not is_word.all():
        before = np.concatenate([[0], np.cumsum(is_word)])
        offsets, words = before[offsets], words.filter(pa.array(is_word))
    return offsets, pc.utf8_slice_codeunits(words, 0, _LONGEST_WORD)
