import pyarrow as pa
import pytest

from akgnn.data.tables.table import (
    Table,
    empty_as_missing,
    first_not_numeric,
    first_true,
    in_memory,
    in_one_line,
    without_column,
)


def test_messages_name_the_line_that_the_reader_knows():
    opened = in_memory("n.csv", pa.table({"a": [1, 2]}), lambda row: f"line {row + 7}")
    assert opened.read(["a"]).at(1, "a") == "n.csv, line 8, column 'a'"
    assert Table("n", pa.table({"a": [1]})).at(0, "a") == "n, row 0 (counted from 0), column 'a'"


def test_a_dictionary_is_written_out():
    column = pa.array(["u", "v", "u"]).dictionary_encode()
    assert Table("n", pa.table({"a": column})).column("a").type == pa.string()


@pytest.mark.parametrize(
    ("texts", "row"),
    [
        (["1", "-2.5e3", " .5 ", None], None),
        (["1", "1,5", "x"], 1),
        (["nan"], 0),
        ([None, "1e"], 1),
    ],
)
def test_the_first_text_that_is_no_number_is_found(texts, row):
    assert first_not_numeric(pa.chunked_array([texts], pa.large_string())) == row


def test_only_empty_text_is_missing():
    column = empty_as_missing(pa.chunked_array([["", " ", None, "NA"]]))
    assert column.to_pylist() == [None, " ", None, "NA"]
    assert first_true(column.is_null()) == 0
    assert first_true(pa.array([False, None])) is None


def test_words_of_another_library_fit_into_a_line():
    assert in_one_line(ValueError("bad\n  thing\x1b[31m. ")) == "bad thing [31m"
    assert len(in_one_line(ValueError("x" * 1000))) == 300


def test_a_message_can_name_the_setting_that_leaves_a_column_out():
    assert without_column("age") == "`columns='!age'`"
    assert without_column("it's") == '`columns="!it\'s"`'
