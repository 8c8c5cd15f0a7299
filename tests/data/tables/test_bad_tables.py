"""Every mistake that a table can hold: one clear error that names file, line and column."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from akgnn.data.tables.load import load_tables
from akgnn.errors import AkgnnError, DataError

LABELS = "ab"


def rows(*changes: str, header: str = "id,label,age", number: int = 12) -> str:
    """A node table of ids n0, n1, …; a change replaces the row with its id."""
    lines = {f"n{k}": f"n{k},{LABELS[k % 2]},{k}" for k in range(number)}
    lines |= {change.split(",")[0]: change for change in changes}
    return "\n".join([header, *lines.values()]) + "\n"


EDGES = "source,target\nn0,n1\nn1,n2\n"


def numbered(values, **more):
    """A node table as a DataFrame, with these values in the column `age`."""
    number = len(values)
    return {"id": range(number), "label": ["a", "b"] * (number // 2), "age": values, **more}


LINKS = pd.DataFrame({"source": [0, 1], "target": [1, 2]})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "nodes.csv is empty"),
        ("\n\n  \n", "nodes.csv is empty"),
        ("id,label,age\n", "nodes.csv has column names but no rows"),
        ("id;label;age\n1;a;2\n", "separators look like semicolons, but the name says commas"),
        ("id\tlabel\tage\n1\ta\t2\n", "separators look like tabs, .*; call it .tsv"),
        ("id|label\n1|a\n", "separators look like bars"),
        ("1,2,3\n4,5,6\n", "line 1 must name the columns, but it holds '1', '2', '3'"),
        ("id,label,id\n1,a,2\n", "columns 1 and 3 are both called 'id'"),
        (",label\n0,a\n1,b\n", r"column 1 has no name. \(pandas writes its index so"),
        ("id,la\x07bel\n1,a\n", r"name of column 2, 'la\\x07bel', holds a character"),
        (rows("n4,New\u202eYork,4"), r"column 'label': 'New\\u202eYork' holds a control character"),
        (rows("n4\x9b,a,4"), "line 14, column 'id': .* holds a control character"),
        (rows("n3,a"), "nodes.csv, line 5: 2 fields, but the header has 3"),
        (rows("n3,a,3,x"), "nodes.csv, line 5: 4 fields, but the header has 3"),
        (rows("n3,a,3,x").replace("n1,", "\n\nn1,"), "line 7: 4 fields"),
        (rows("n3,a,3").replace("n1,b", 'n1,"b\nb"').replace("n5,b", "n5"), "line 8: 2 fields"),
        (rows().replace("n4,a", "n4,\xe9").encode("latin-1"), r"line 6: not UTF-8.*iconv"),
        (rows("n4,\xe9,4").encode("utf-16"), "is UTF-16; save it as UTF-8"),
        (b"PK\x03\x04\x00\x00" + bytes(range(256)), "is no text file.*spreadsheet"),
        (rows(f"n4,a,{'x' * 10_000_000}"), "after line 5: field larger than field limit"),
        (rows(f"n4,{'x' * 2000},4"), "line 6, column 'label': a text of 2,000 characters"),
        (rows('n4,"a,4'), r"line 6: 2 fields, .*\. Was a quote left open\?"),
        (rows("n4,a\x1b[31m,4"), r"line 6, column 'label': 'a\\x1b\[31m' holds a control"),
        (rows(",a,4"), "line 14, column 'id': an id is missing"),
        (rows("n4\x00,a,4").replace("n4,a,4\n", ""), "is no text file: it holds zero bytes"),
        (rows() + "n3,a,1\nn5,b,2\nn3,a,2\n", r"'n3' \(line 5 and line 14\), 'n5' \(line 7 and"),
        (rows("n3,b,x"), "line 5, column 'age': 'x' is no number, but the column holds numbers"),
        (rows("n3,b,inf"), "line 5, column 'age': inf is too large"),
        (rows("n3,b,-Infinity"), "line 5, column 'age': -inf is too large"),
        (rows("n3,b,1e39"), r"line 5, column 'age': 1e\+39 is too large"),
        (
            re.sub(r",\d+\n", ",\n", rows()),
            "column 'age': every value is missing; .*`columns='!age'`",
        ),
        (re.sub(r",\d+\n", ",NA\n", rows()), "column 'age': every value is missing"),
        (rows(number=1001).replace(",0\n", ",x\n").replace(",", ",v"), "no column called 'label'"),
        (rows().replace(",a,", ",,").replace(",b,", ",,"), "'label': every label is missing"),
        (rows().replace(",b,", ",a,"), "every label is 'a'; at least two classes"),
        (rows(header="name,lable,age"), "no column called 'label'.* columns are name, lable, age"),
    ],
)
def test_a_bad_node_file(write, content, words):
    nodes, edges = write("nodes.csv", content), write("edges.csv", EDGES)
    with pytest.raises(DataError, match=words) as caught:
        load_tables(nodes, edges, prepare="plain")
    assert "nodes.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"id": "key"}, "no column 'key' for `id`; it has id, label, age"),
        ({"label": "lable"}, "no column 'lable' for `label`.*Did you mean 'label'"),
        ({"label": "id"}, "'id' cannot hold both the ids and the labels"),
        ({"columns": "agee"}, "no column that matches 'agee' of `columns`.*mean 'age'"),
        ({"columns": "w*"}, r"matches 'w\*' of `columns`"),
        ({"columns": "!w*"}, r"matches 'w\*' of `columns`"),
        ({"columns": "age,label"}, "'label' cannot be a feature, it holds the labels"),
        ({"columns": "id"}, "'id' cannot be a feature, it holds the ids"),
        ({"split": "part"}, "no column 'part' for `split` .*60/20/20"),
        ({"split": "public"}, "no column 'public' for `split`"),
        ({"split": "label"}, "'label' holds the labels, not the split"),
        ({"split": "20-per-class"}, r"'label': the split 20-per-class cannot.*class is 'a' with 6"),
        ({"split": "90/20/20"}, "cannot be drawn. Fractions must"),
        ({"split": "100/0/0"}, "cannot be drawn. The validation set is empty"),
        ({"source": "sauce"}, "no column 'sauce' for `source`.*Did you mean 'source'"),
        ({"target": "goal"}, "no column 'goal' for `target`"),
        ({"source": "target", "target": "target"}, "'target' cannot be both ends"),
        ({"weight": "target"}, "'target' holds ids and cannot hold the weights"),
        ({"weight": "w"}, "no column 'w' for `weight`; it has source, target"),
    ],
)
def test_a_bad_setting(write, settings, words):
    nodes, edges = write("nodes.csv", rows()), write("edges.csv", EDGES)
    with pytest.raises(DataError, match=words):
        load_tables(nodes, edges, **settings)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "edges.csv is empty"),
        ("source,target\n", "edges.csv has column names but no rows"),
        ("source\nn1\n", "edges.csv has one column, 'source'; an edge table needs two"),
        ("source target\nn1 n2\n", "has one column, 'source target'"),
        ("source;target\nn1;n2\n", "look like semicolons"),
        ("0,1\n1,2\n", "line 1 must name the columns"),
        ("source,target\nn1,n2\nn1,\n", "edges.csv, line 3, column 'target': an id is missing"),
        ("source,target\nn1,n2\n,n1\n", "edges.csv, line 3, column 'source': an id is missing"),
        (
            "source,target\nn1,n2\n" + "".join(f"u{k},n1\n" for k in range(6)) + "u0,u1\n",
            r"first at line 3: 7 edges mention 6 ids that are not in .*nodes.csv: "
            r"'u0', 'u1', 'u2', 'u3', 'u4', …; .*`unknown_ids='drop'`",
        ),
        ("source,target\n n1,n2\n", "1 ids .*: ' n1'"),
        ("source,target,weight\nn1,n2,2\nn0,n1,x\n", "line 3, column 'weight': .*numbers, got 'x'"),
        ("source,target,weight\nn1,n2,2\nn0,n1,\n", "line 3, column 'weight': .* is missing"),
        ("source,target,weight\nn1,n2,2\nn0,n1,3.4e38\n", "line 3, column 'weight': .* is 3.4e"),
        ("source,target,weight\nn1,n2,2\nn0,n1,inf\n", "line 3, column 'weight': .* is inf; it"),
        ("source,target,weight\nn1,n2,2\nn0,n1,nan\n", "line 3, column 'weight': .* is missing"),
        ("source,target,weight\nn1,n2,2\nn0,n1,-1\n", "line 3, column 'weight': the weight is -1"),
        ("source,target,weight\nn1,n2,2\nn0,n1,inf\n", "line 3, column 'weight': .* is inf"),
        ("source,target,weight\nn1,n2,1e39\n", r"line 2, column 'weight': .* is 1e\+39"),
        ("source,target,weight\nn1,n2,2020-01-01\n", "'weight': weights must be numbers, got date"),
        ("source,target,weight\nn1,n2\n", "edges.csv, line 2: 2 fields, but the header has 3"),
    ],
)
def test_a_bad_edge_file(write, content, words):
    nodes, edges = write("nodes.csv", rows()), write("edges.csv", content)
    weight = "weight" if "weight" in content else None
    with pytest.raises(DataError, match=words) as caught:
        load_tables(nodes, edges, weight=weight)
    assert "edges.csv" in str(caught.value)


def test_all_edges_dropped_is_an_error(write):
    nodes, edges = write("nodes.csv", rows()), write("edges.csv", "a,b\nx,y\n")
    with pytest.raises(DataError, match="no edge joins two ids of"):
        load_tables(nodes, edges, unknown_ids="drop")


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ([0.5, 1.5, 2.5, 3.5] * 3, "labels such as 0.5, 1.5, 2.5 measure something"),
        (["0.5", "1.5"] * 6, "measure something"),
        ([None] * 12, "every label is missing"),
        ([float("nan")] * 12, "every label is missing"),
        ([[1], [2]] * 6, "labels must be text or integers, got list"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"] * 6), "got timestamp"),
    ],
)
def test_bad_labels(label, words):
    nodes = {"id": range(12), "label": label}
    with pytest.raises(DataError, match=words) as caught:
        load_tables(pd.DataFrame(nodes), LINKS)
    assert "the node table, column 'label'" in str(caught.value)


def test_many_different_numbers_are_no_classes():
    nodes = pd.DataFrame({"id": range(150), "label": np.arange(150) * 3})
    with pytest.raises(DataError, match="labels such as 0, 3, 6 measure something"):
        load_tables(nodes, LINKS)
    # As texts they are ids.
    words = "column 'label': 150 different labels in 150 rows, such as 'c0', 'c3', 'c6', are ids"
    with pytest.raises(DataError, match=words):
        load_tables(nodes.assign(label=nodes.label.map("c{}".format)), LINKS)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0] * 11 + [float("inf")], r"row 11 \(counted from 0\), column 'age': inf is too large"),
        ([2**70] * 2 + [1] * 10, "column 'age': .* 64 bits"),
        (pd.to_datetime(["2020-01-01"] * 12), "a column of timestamp.* neither numbers nor"),
        ([[1, 2]] * 12, "a column of list<.* is neither numbers nor categories"),
        ([1, "a"] * 6, "column 'age': values of one kind"),
        (["x\ny"] * 12, "holds a control character"),
    ],
)
def test_bad_columns_of_a_data_frame(values, words):
    with pytest.raises(DataError, match=words):
        load_tables(pd.DataFrame(numbered(values)), LINKS, prepare="plain")


def test_a_text_column_with_too_many_values_is_to_be_left_out():
    nodes = pl.DataFrame(numbered([f"v{k}" for k in range(1002)]))
    with pytest.raises(
        DataError, match=r"'age': 1,002 different texts are no categories.*`columns='!age'`"
    ):
        load_tables(nodes, LINKS, prepare="plain")
    assert load_tables(nodes, LINKS, columns="!age").num_features == 2
    assert load_tables(nodes, LINKS).recipe.left_out == {"age": "a value for every node"}


@pytest.mark.parametrize("missing", ["refuse", "fill"])
@pytest.mark.parametrize("column", ["age", "kind"])
def test_missing_values_are_refused_on_request(write, missing, column):
    header, gap = f"id,label,{column}", "n3,b,"
    text = rows(gap, header=header)
    text = text if column == "age" else re.sub(r",(\d+)\n", r",v\1\n", text)
    nodes, edges = write("nodes.csv", text), write("edges.csv", EDGES)
    if missing == "fill":
        assert load_tables(nodes, edges, missing=missing).recipe.column_names == [column]
        return
    words = f"line 5, column '{column}': the value is missing; .* `missing='fill'` do it"
    with pytest.raises(DataError, match=words):
        load_tables(nodes, edges, missing=missing)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([0.5, 1, 2, 3], "ids must be text or integers"),
        ([None, None, None, None], r"row 0 \(counted from 0\), column 'id': an id is missing"),
        ([1, None, 2, 3], "row 1 .* an id is missing"),
        ([True, False, True, False], "ids must be text or integers, got bool"),
        (["a", "b\n", "c", "d"], "row 1 .* holds a control character"),
        ([1, 2, 2, 2], r"2 \(row 1 \(counted from 0\) and row 2"),
        (["a", 1, "b", 2], "column 'id': values of one kind are needed"),
    ],
)
def test_bad_ids(ids, words):
    nodes = pd.DataFrame({"id": ids, "label": ["a", "b", "a", "b"]})
    with pytest.raises(DataError, match=words):
        load_tables(nodes, LINKS)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (["train", "val", "tset"] * 4, r"row 2 .*, column 'part': 'tset' is no set; write train"),
        (["train", "test"] * 6, "column 'part': no node is in the val set"),
        (["val", "test"] * 6, "column 'part': no node is in the train set"),
        ([""] * 12, "no node is in the train set"),
        ([0, 1, 2] * 4, "expected train, val and test, got int64"),
        (["", "train", "val"] * 4, "row 3 is without"),
    ],
)
def test_a_bad_split_column(part, words):
    label = ["a", "b"] * 6
    if words.endswith("without"):
        label[1], words = "", r"row 1 .*: the node is in the train set but has no label"
    nodes = pl.DataFrame({"id": range(12), "label": label, "part": part})
    with pytest.raises(DataError, match=words):
        load_tables(nodes, LINKS, split="part")


def test_a_class_without_training_node_is_refused():
    part = ["train", "val"] * 6
    nodes = pl.DataFrame({"id": range(12), "label": ["a", "b"] * 6, "part": part})
    with pytest.raises(DataError, match="Class 'b' has no training node"):
        load_tables(nodes, LINKS, split="part")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("nodes.parquet", "id,label\n", "nodes.parquet is damaged or no Parquet file"),
        ("nodes.parquet", "", "nodes.parquet is damaged or no Parquet file"),
        ("nodes.parquet", b"PAR1" + bytes(9) + b"PAR1", "damaged or no Parquet file"),
        ("nodes.jsonl", b'{"id": 1}\n{"id": 2, "\xe9": 1}\n', "line 2: not UTF-8"),
        ("nodes.jsonl", b'{"id": "a"}\n{"id": "\xe9"}\n', "line 2: not UTF-8"),
        ("nodes.jsonl", "", "nodes.jsonl is empty"),
        ("nodes.jsonl", '{"id": 1}\n{"id": 2\n', "nodes.jsonl, line 2: no JSON"),
        (
            "nodes.jsonl",
            '\n{"id": 1}\n\n[1]\n',
            "nodes.jsonl, line 4: expected an object.*got list",
        ),
        ("nodes.jsonl", '{"id": "\xe9"}\n'.encode("latin-1"), "nodes.jsonl, line 1: not UTF-8"),
        ("nodes.jsonl", '{"a": 1}\n{"a": "x"}\n', "line 2, column 'a': text, but a number further"),
        ("nodes.jsonl", "{" * 100_000, "nodes.jsonl, line 1: no JSON"),
        ("nodes.jsonl", '{"id": "a", "x": {"y": 1}}\n', "no column called 'label'"),
        ("nodes.xlsx", "", "nodes.xlsx: the ending must say what the file is, one of .csv"),
        ("nodes", "", "the ending must say what the file is"),
        ("nodes.csv.gz", "", "the ending must say what the file is"),
    ],
)
def test_a_bad_file_of_another_kind(write, name, content, words):
    nodes, edges = write(name, content), write("edges.csv", EDGES)
    with pytest.raises(DataError, match=words):
        load_tables(nodes, edges)


def test_a_damaged_parquet_file(tmp_path, write):
    path = tmp_path / "nodes.parquet"
    table = pd.DataFrame({"id": np.arange(20_000), "label": ["a", "b"] * 10_000})
    table.to_parquet(path, compression="gzip")
    content = bytearray(path.read_bytes())
    content[100:3000] = bytes(2900)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"nodes\.parquet is damaged"):
        load_tables(path, LINKS)


def test_a_file_that_is_not_there(tmp_path, write):
    edges = write("edges.csv", EDGES)
    with pytest.raises(DataError, match=r"node table .*gone\.csv does not exist"):
        load_tables(tmp_path / "gone.csv", edges)
    with pytest.raises(DataError, match=r"node table .* is a folder, not a file"):
        load_tables(tmp_path, edges)
    with pytest.raises(DataError, match="There is no node table; name its file with `nodes`"):
        load_tables("", edges)
    nodes = write("nodes.csv", rows())
    with pytest.raises(DataError, match="There is no edge table; name its file with `edges`"):
        load_tables(nodes, "")
    with pytest.raises(DataError, match=r"edge table .*gone\.parquet does not exist"):
        load_tables(nodes, str(tmp_path / "gone.parquet"))


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ([1, 2], "the node table must be a path or a DataFrame .* got list"),
        (pl.LazyFrame({"id": [1]}), "held in memory .* got LazyFrame"),
        (pd.DataFrame([[1, 2]], columns=["id", "id"]), "the node table"),
        (pa.table([[1], [2]], names=["id", "id"]), "columns 1 and 2 are both called 'id'"),
        (pd.DataFrame(), "the node table has no columns"),
        (pd.DataFrame({"id": [], "label": []}), "no rows"),
    ],
)
def test_a_bad_data_frame(frame, words):
    with pytest.raises(AkgnnError, match=words):
        load_tables(frame, LINKS)
