import math

import numpy as np
import pyarrow as pa

from akgnn.data.tables.words import learn_words, repeat_themselves, word_entries, words_a_text

TEXTS = pa.chunked_array([["The cat, the hat!", "a CAT", None, "", "dog; cat", "dog"]])


def dense(column, texts):
    row, col, value = word_entries(column, texts)
    x = np.zeros((len(texts), len(column.hashes)))
    np.add.at(x, (row, col), value)
    return x


def test_words_of_several_texts_are_weighted_by_how_rare_they_are():
    column = learn_words("t", TEXTS)
    # Only cat and dog stand in two texts or more.
    assert len(column.hashes) == 2
    expected = {1 + math.log(7 / 4), 1 + math.log(7 / 3)}
    assert set(column.weights) == expected


def test_rows_have_length_1_and_other_words_count_nothing():
    column = learn_words("t", TEXTS)
    x = dense(column, TEXTS)
    assert np.allclose(np.linalg.norm(x, axis=1), [1, 1, 0, 0, 1, 1])
    assert (x[0] > 0).sum() == 1
    assert (x[4] > 0).sum() == 2
    unknown = dense(column, pa.chunked_array([["bird fish", "cat bird cat"]]))
    assert np.allclose(np.linalg.norm(unknown, axis=1), [0, 1])


def test_a_row_is_the_same_whatever_stands_beside_it():
    column = learn_words("t", TEXTS)
    alone = dense(column, TEXTS.slice(4, 1))
    assert np.array_equal(alone[0], dense(column, TEXTS)[4])


def test_texts_of_other_alphabets_are_words():
    texts = pa.chunked_array([["Привет, мир", "мир всем", "naïve café", "café"]])
    assert len(learn_words("t", texts).hashes) == 2


def test_texts_without_repeated_words_teach_nothing():
    assert learn_words("t", pa.chunked_array([["a1", "b2", "c3"]])) is None
    assert learn_words("t", pa.chunked_array([["", "!!", None]], pa.string())) is None


def test_what_texts_are_like():
    assert words_a_text(pa.chunked_array([["a b c", "d"]])) == 2
    assert repeat_themselves(pa.chunked_array([["a b", "b a"]]))
    assert not repeat_themselves(pa.chunked_array([["a b", "c d"]]))
