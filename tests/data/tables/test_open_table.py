import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from akgnn.data.tables.open_table import open_table
from akgnn.errors import MissingExtraError


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1, 2], "b": ["x", None]}),
        pd.DataFrame({"a": pd.array([1, 2], "Int64"), "b": pd.Categorical(["x", None])}),
        pl.DataFrame({"a": [1, 2], "b": ["x", None]}),
        pl.DataFrame({"a": [1, 2], "b": pl.Series(["x", None], dtype=pl.Categorical)}),
        pa.table({"a": [1, 2], "b": ["x", None]}),
    ],
)
def test_every_data_frame_becomes_columns(frame):
    opened = open_table(frame, "node")
    assert opened.columns == ("a", "b")
    table = opened.read(["b", "a"])
    assert table.content.schema.names == ["b", "a"]
    assert table.column("a").to_pylist() == [1, 2]
    assert table.column("b").to_pylist() == ["x", None]
    assert table.at(1, "b") == "the node table, row 1 (counted from 0), column 'b'"


def test_numbers_may_be_the_names_of_pandas_columns():
    opened = open_table(pd.DataFrame({0: [1, 2], 1: [3, 4]}), "edge")
    assert opened.columns == ("0", "1")
    assert opened.read(["1"]).column("1").to_pylist() == [3, 4]


def test_an_open_table_is_taken_as_it_is():
    opened = open_table(pa.table({"a": [1]}), "node")
    assert open_table(opened, "node") is opened


def test_endings_may_be_capitals(write):
    assert open_table(write("A.CSV", "id,a\n1,2\n"), "node").columns == ("id", "a")
    assert open_table(write("A.TAB", "id\ta\n1\t2\n"), "node").columns == ("id", "a")


def test_without_narwhals_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'akgnn\[tables\]'"):
        open_table(pd.DataFrame({"a": [1]}), "node")
