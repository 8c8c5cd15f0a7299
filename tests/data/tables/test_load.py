import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.csv import write_csv

from akgnn.csr import CSR
from akgnn.data.published import load_bundled
from akgnn.data.tables.load import load_tables, read_tables
from akgnn.data.tables.settings import TableSettings
from akgnn.errors import DataError, SettingsError, UnknownNameError


def test_two_csv_files_become_node_data(nodes, edges):
    data = load_tables(nodes, edges, prepare="plain")
    assert data.name == "nodes"
    assert data.class_names == ("ham", "spam")
    assert data.y.tolist() == [1, 0, 1, 0, -1, 1, 0, 1, 0, 1, 0, 1]
    assert data.ids.to_pylist() == ["007", *"abcdefghijk"]
    assert data.recipe.feature_names == ["age", "kind=x", "kind=y"]
    mean = (1.5 + 2 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12) / 11
    assert torch.equal(data.x[:4], torch.tensor([[1.5, 1, 0], [2, 0, 1], [mean, 1, 0], [4, 0, 0]]))
    assert data.graph.num_edges == 12
    assert data.graph.is_symmetric
    assert data.source["origin"] == "tables"
    assert data.split.name == "random-60-20-20-seed-0"


def test_every_kind_of_table_gives_the_same_data(nodes, edges, tmp_path):
    expected = load_tables(nodes, edges)
    frames = pd.read_csv(nodes, dtype={"id": str}), pd.read_csv(edges, dtype=str)
    results = [load_tables(*frames)]
    results.append(load_tables(pl.from_pandas(frames[0]), frames[1]))
    results.append(load_tables(*(pa.Table.from_pandas(frame) for frame in frames)))
    for name, frame in zip(("n", "e"), frames, strict=True):
        frame.to_csv(tmp_path / f"{name}.tsv", sep="\t", index=False)
        frame.to_parquet(tmp_path / f"{name}.parquet")
        frame.to_json(tmp_path / f"{name}.jsonl", orient="records", lines=True)
    for ending in ("tsv", "parquet", "jsonl"):
        results.append(load_tables(tmp_path / f"n.{ending}", str(tmp_path / f"e.{ending}")))
    for data in results:
        assert data.ids.to_pylist()[0] == "007"
        assert data.source == expected.source
        assert data.split.label == expected.split.label


def test_settings_say_the_same_as_arguments(nodes, edges):
    settings = TableSettings(nodes=nodes, edges=edges, weight="weight", standardise=True)
    named = load_tables(nodes, edges, weight="weight", standardise=True, split="50/50/0")
    read = read_tables(settings, split="50/50/0")
    assert read.source == named.source
    assert read.tables == named.tables
    assert read.recipe == named.recipe
    assert torch.equal(read.x, named.x)
    assert read.split.label == named.split.label


def test_other_tables_may_stand_in_for_the_files_of_the_settings(nodes, edges):
    frame = pd.read_csv(nodes, dtype={"id": str}).head(8)
    data = read_tables(TableSettings(nodes=nodes, edges=edges), nodes=frame)
    assert data.graph.num_nodes == 8
    assert (data.tables.nodes, data.tables.edges) == ("", edges)


def test_the_tables_of_the_data_have_whole_paths(nodes, edges, monkeypatch):
    monkeypatch.chdir(Path(nodes).parent)
    tables = load_tables("nodes.csv", Path("edges.csv")).tables
    assert (tables.nodes, tables.edges) == (nodes, edges)
    frames = pd.read_csv(nodes, dtype={"id": str}), pd.read_csv(edges, dtype=str)
    tables = load_tables(*frames).tables
    assert (tables.nodes, tables.edges) == ("", "")


def test_integers_stay_integers_and_find_the_text_of_a_csv(write):
    nodes = pa.table({"id": [3, 1, 2, 10], "label": ["a", "b", "a", "b"]})
    links = write("links.csv", "source,target\n1,2\n3,1\n")
    data = load_tables(nodes, links, split="50/50/0")
    assert data.ids.to_pylist() == [3, 1, 2, 10]
    assert data.graph.edge_index.T.tolist() == [[1, 0], [0, 1], [2, 1], [1, 2]]


def test_ids_of_pandas_with_gaps_elsewhere_are_integers_again():
    nodes = pd.DataFrame({"id": [1.0, 2.0, 3.0, 4.0], "label": [0.0, 1.0, 0.0, 1.0]})
    edges = pd.DataFrame({"a": [1, 2], "b": [2, 3]})
    data = load_tables(nodes, edges, split="50/50/0")
    assert data.ids.to_pylist() == [1, 2, 3, 4]
    assert data.class_names == ("0", "1")


def test_the_record_changes_with_the_content_and_only_with_it(nodes, edges, write):
    before = load_tables(nodes, edges).source["nodes_sha256"]
    with open(nodes, encoding="utf-8") as stream:
        text = stream.read()
    same = write("same.csv", text.replace("\n", "\r\n").replace("c,ham", "\r\nc,ham"))
    assert load_tables(same, edges).source["nodes_sha256"] == before
    for old, new in (("k,spam", "k,ham"), ("12,x", "13,x"), ("spam", "eggs")):
        other = write("other.csv", text.replace(old, new))
        assert load_tables(other, edges).source["nodes_sha256"] != before


def test_columns_found_by_rule_are_named_in_the_settings_that_come_back(write):
    nodes = write("n.csv", "Label,name,ID\na,x,1\nb,x,2\na,x,3\nb,y,4\n")
    edges = write("e.csv", "kind,to,from\nk,1,2\n")
    tables = load_tables(nodes, edges, split="50/50/0").tables
    assert (tables.id, tables.label, tables.source, tables.target) == ("ID", "Label", "from", "to")


def test_without_columns_of_features_the_graph_stands_in(nodes, edges):
    for columns in ("", "!*"):
        data = load_tables(nodes, edges, columns=columns)
        degree = torch.tensor([2.0] * 6 + [0.0] * 6)
        assert torch.allclose(data.x, torch.stack([torch.ones(12), degree.log1p()], dim=1))
        assert "log(1 + degree) stand in" in data.source["features"]


def test_ids_labels_and_split_never_are_features(write, edges):
    rows = [
        f"{node},{'ab'[k % 2]},{part},{k}"
        for k, (node, part) in enumerate(
            zip(
                ["007", *"abcdefgh"], ["train"] * 4 + ["val"] * 2 + ["test", "", "DEV"], strict=True
            )
        )
    ]
    nodes = write("n.csv", "\n".join(["id,label,part,size", *rows]))
    data = load_tables(nodes, edges, split="part")
    assert data.recipe.column_names == ["size"]
    assert data.split.name == "column-part"
    assert data.split.train.tolist() == [0, 1, 2, 3]
    assert data.split.val.tolist() == [4, 5, 8]
    assert data.split.test.tolist() == [6]


@pytest.fixture
def bag_of_words():
    """A node table of 300 words, few of them in each row, an edge table, and the words."""
    words = torch.rand(40, 300, generator=torch.Generator().manual_seed(0)) < 0.02
    columns = {f"w{k}": words[:, k].int().numpy() for k in range(300)}
    nodes = pa.table({"id": list(range(40)), "label": ["a", "b"] * 20, **columns})
    return nodes, pa.table({"source": [0, 1], "target": [1, 2]}), words.float()


def test_a_bag_of_words_stays_sparse_and_its_rows_sum_to_1(bag_of_words):
    nodes, edges, words = bag_of_words
    for features in ("auto", "row-normalised"):
        data = load_tables(nodes, edges, features=features)
        assert isinstance(data.x, CSR)
        expected = words / words.sum(1, keepdim=True).clamp(min=1)
        assert torch.allclose(data.x.to_dense(), expected)
        assert data.recipe.normalise_rows
        assert data.source["rows"] == "sum to 1"
    raw = load_tables(nodes, edges, features="raw")
    assert torch.equal(raw.x.to_dense(), words)
    assert not raw.recipe.normalise_rows
    assert "rows" not in raw.source
    # The fingerprint is that of the tables, whatever is done to the rows.
    assert raw.source["nodes_sha256"] == data.source["nodes_sha256"]


def test_other_features_are_divided_by_their_sum_on_request_only(nodes, edges):
    raw = load_tables(nodes, edges)
    assert not raw.recipe.normalise_rows
    data = load_tables(nodes, edges, features="row-normalised")
    assert data.recipe.normalise_rows
    assert torch.allclose(data.x, raw.x / raw.x.sum(1, keepdim=True))


def test_cora_comes_through_csv_files_unchanged(tmp_path):
    cora = load_bundled("cora")
    ids = [f"paper {k:04d}" for k in range(2708)]
    part = [""] * 2708
    for name in ("train", "val", "test"):
        for node in getattr(cora.split, name).tolist():
            part[node] = name
    words = cora.x.to_dense().to(torch.uint8).numpy()
    source, target = cora.graph.edge_index.numpy()
    columns = {
        "id": ids,
        "label": [cora.class_names[label] for label in cora.y.tolist()],
        "part": part,
        **{f"word {k}": words[:, k] for k in range(1433)},
    }
    once = source < target
    links = {"a": np.array(ids)[source[once]], "b": np.array(ids)[target[once]]}
    for name, table in (("nodes", columns), ("edges", links)):
        write_csv(pa.table(table), tmp_path / f"{name}.csv")
    files = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    data = load_tables(*files, split="part", features="raw")
    assert torch.equal(data.graph.edge_index, cora.graph.edge_index)
    assert torch.equal(data.x.pattern.col, cora.x.pattern.col)
    assert torch.equal(data.x.pattern.rowptr, cora.x.pattern.rowptr)
    assert data.split.fingerprint == cora.split.fingerprint
    assert [data.class_names[k] for k in data.y] == [cora.class_names[k] for k in cora.y]


# As pyarrow.csv reads them: text without line ends or zero bytes.
TEXTS = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=6)


@given(
    ids=st.lists(TEXTS, min_size=4, max_size=9, unique=True),
    ends=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=20),
    number=st.lists(st.floats(-1e9, 1e9) | st.none(), min_size=9, max_size=9),
)
def test_any_ids_and_edges_come_through_a_csv(ids, ends, number):
    number[0] = 1.0
    pairs = {(i % len(ids), j % len(ids)) for i, j in ends}
    with tempfile.TemporaryDirectory() as folder:
        nodes, edges = Path(folder, "n.csv"), Path(folder, "e.csv")
        with nodes.open("w", encoding="utf-8", newline="") as stream:
            write = csv.writer(stream).writerow
            write(["id", "label", "size"])
            for k, (name, value) in enumerate(zip(ids, number, strict=False)):
                write([name, "ab"[k % 2], value])
        with edges.open("w", encoding="utf-8", newline="") as stream:
            write = csv.writer(stream).writerow
            write(["source", "target"])
            for i, j in pairs:
                write([ids[i], ids[j]])
        data = load_tables(nodes, edges, prepare="plain", split="50/50/0", direction="kept")
    assert data.ids.to_pylist() == ids
    assert {tuple(pair) for pair in data.graph.edge_index.T.tolist()} == {
        (i, j) for i, j in pairs if i != j
    }
    for value, feature in zip(number, data.x[:, 0].tolist(), strict=False):
        assert value is None or feature == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"direction": "keep"}, UnknownNameError, "Did you mean 'kept'"),
        ({"features": "rwa"}, UnknownNameError, "Did you mean 'raw'"),
        ({"missing": "fil"}, SettingsError, "Did you mean 'fill'"),
        ({"unknown_ids": "add"}, SettingsError, "one of refuse, drop"),
        ({"columns": ["age"]}, SettingsError, "columns must be text"),
    ],
)
def test_unknown_choices_are_refused(nodes, edges, options, error, words):
    with pytest.raises(error, match=words):
        load_tables(nodes, edges, **options)


def test_without_pyarrow_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from akgnn.data.tables.recipe import FeatureRecipe\n"
        "from akgnn.errors import AkgnnError\n"
        "try:\n    import akgnn.data.tables.load\n"
        "except AkgnnError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'akgnn[tables]'" in done.stdout, done.stderr


def test_several_tables_of_edges_are_put_together(nodes, write):
    one = write("one.csv", "source,target,weight\n007,a,1\na,b,2\n")
    two = write("two.csv", "weight,target,source\n3,c,b\n")
    data = load_tables(nodes, [one, str(two)], weight="weight")
    assert data.graph.num_edges == 6
    assert data.tables.edges == (str(one), str(two))
    together = pa.table(
        {"source": ["007", "a", "b"], "target": ["a", "b", "c"], "weight": [1, 2, 3]}
    )
    alone = load_tables(nodes, together, weight="weight")
    assert torch.equal(data.graph.edge_index, alone.graph.edge_index)
    assert torch.equal(data.graph.edge_weight, alone.graph.edge_weight)
    # One in a list is that one.
    assert load_tables(nodes, [one]).tables.edges == str(one)
    frames = load_tables(nodes, [together.slice(0, 1), together.slice(1)], weight="weight")
    assert torch.equal(frames.graph.edge_index, alone.graph.edge_index)
    assert frames.tables.edges == ""


def test_what_is_wrong_in_one_of_several_tables_is_found_there(nodes, write):
    one = write("one.csv", "source,target\n007,a\na,b\n")
    with pytest.raises(DataError, match=r"first at line 3 of .*two.csv: 1 edges mention 1 ids"):
        load_tables(nodes, [one, write("two.csv", "source,target\na,c\nb,nobody\n")])
    with pytest.raises(DataError, match=r"three.csv has no column 'source', which .*one.csv has"):
        load_tables(nodes, [one, write("three.csv", "from,to\na,c\n")])


def test_ids_of_several_tables_may_be_numbers_and_texts():
    people = pa.table({"id": ["1", "2", "3", "4"], "label": ["a", "b", "a", "b"]})
    links = [pa.table({"s": [1], "t": [2]}), pa.table({"s": ["2"], "t": ["3"]})]
    data = load_tables(people, links, split="50/50/0")
    assert data.graph.num_edges == 4
