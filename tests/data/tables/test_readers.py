import os
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather

from akgnn.data.tables.load import load_tables
from akgnn.data.tables.readers import READERS, open_table, register_reader
from akgnn.data.tables.table import in_memory
from akgnn.errors import DataError, MissingExtraError, SettingsError


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


def test_objects_of_json_lines_may_lack_columns_and_keep_their_lines(write):
    opened = open_table(write("a.jsonl", '{"b": "2020-01-01"}\n\n{"a": 1, "b": "x"}\n'), "node")
    assert opened.columns == ("b", "a")
    table = opened.read(["a", "b"])
    assert table.content.to_pydict() == {"a": [None, 1], "b": ["2020-01-01", "x"]}
    assert [opened.locate(row) for row in range(2)] == ["line 1", "line 3"]


@pytest.fixture
def readers():
    """The readers, which are as before afterwards."""
    before = dict(READERS)
    yield READERS
    READERS.clear()
    READERS.update(before)


def test_a_format_of_ones_own_is_one_entry(readers, tmp_path, nodes, edges):
    register_reader(".Feather", lambda path: in_memory(str(path), feather.read_table(path)))
    frame = pd.read_csv(nodes, dtype={"id": str})
    feather.write_feather(frame, tmp_path / "nodes.feather")
    data = load_tables(tmp_path / "nodes.feather", edges)
    assert data.source == load_tables(nodes, edges).source
    frame.loc[3, "id"] = "a"
    feather.write_feather(frame, tmp_path / "nodes.feather")
    with pytest.raises(DataError, match=r"nodes\.feather, column 'id': .*'a' \(row 1 "):
        load_tables(tmp_path / "nodes.feather", edges)
    with pytest.raises(DataError, match=r"node table .*gone\.feather does not exist"):
        load_tables(tmp_path / "gone.feather", edges)
    with pytest.raises(DataError, match=r"one of \.csv, .*\.feather\."):
        load_tables(tmp_path / "nodes.xlsx", edges)


@pytest.mark.parametrize("ending", ["feather", "", ".", ".tar.gz", ". x"])
def test_what_is_no_ending_is_refused(readers, ending):
    with pytest.raises(SettingsError, match="An ending is a dot and letters"):
        register_reader(ending, lambda path: in_memory("x", pa.table({"a": [1]})))


def write_rows(folder, last):
    """A table of JSON lines whose last one ends so; an edge table too."""
    rows = [f'{{"id": "n{i}", "label": "{"ab"[i % 2]}"}}' for i in range(12)]
    (folder / "nodes.jsonl").write_text("\n".join([*rows, last]) + "\n", encoding="utf-8")
    (folder / "edges.csv").write_text("source,target\nn1,n2\n")
    return folder / "nodes.jsonl", folder / "edges.csv"


@pytest.mark.parametrize(
    "deep", ["[" * 20_000 + "]" * 20_000, '{"a":' * 20_000 + "1" + "}" * 20_000]
)
def test_deep_nesting_does_not_end_the_interpreter(tmp_path, deep):
    tables = write_rows(tmp_path, f'{{"id": "x", "label": "a", "late": {deep}}}')
    with pytest.raises(DataError, match="line 13: values are nested more than 8 deep"):
        load_tables(*tables)


def test_brackets_in_texts_are_no_nesting(tmp_path):
    tables = write_rows(tmp_path, r'{"id": "[[[[[[[[[[\"[[[[{{{", "label": "a"}')
    assert load_tables(*tables).graph.num_nodes == 13


def test_a_line_without_an_end_is_not_read_to_it(tmp_path):
    tables = write_rows(tmp_path, '{"id": "' + "x" * 2**24 + '"}')
    with pytest.raises(DataError, match="line 13: longer than 16,777,216 bytes"):
        load_tables(*tables)


def test_a_key_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "nodes.jsonl").write_text('{"id": "a", "\\ud800": "b"}\n')
    with pytest.raises(DataError, match=r"the column '\\ud800' cannot be printed"):
        open_table(tmp_path / "nodes.jsonl", "node")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_pipe_is_not_waited_for(tmp_path, ending):
    os.mkfifo(tmp_path / f"nodes{ending}")
    with pytest.raises(DataError, match="is a pipe or a device, not a file"):
        open_table(tmp_path / f"nodes{ending}", "node")


def test_a_zero_byte_in_a_path_is_told():
    with pytest.raises(DataError, match="a name holds no zero bytes"):
        open_table("a\0.csv", "node")
