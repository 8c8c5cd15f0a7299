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
from akgnn.data.bundled import load_bundled
from akgnn.data.tables.load import load_tables
from akgnn.data.tables.settings import TableSettings
from akgnn.errors import UnknownNameError


def load(nodes, edges, *, split=None, direction="symmetrised", **settings):
    settings = TableSettings(nodes=nodes, edges=edges, **settings)
    return load_tables(settings, split=split, direction=direction)


def test_two_csv_files_become_node_data(nodes, edges):
    tables = load(nodes, edges)
    data = tables.data
    assert data.name == "nodes"
    assert data.class_names == ("ham", "spam")
    assert data.y.tolist() == [1, 0, 1, 0, -1, 1, 0, 1, 0, 1, 0, 1]
    assert tables.ids.to_pylist() == ["007", *"abcdefghijk"]
    assert tables.recipe.feature_names == ["age", "kind=x", "kind=y"]
    mean = (1.5 + 2 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12) / 11
    assert torch.equal(data.x[:4], torch.tensor([[1.5, 1, 0], [2, 0, 1], [mean, 1, 0], [4, 0, 0]]))
    assert data.graph.num_edges == 12
    assert data.graph.is_symmetric
    assert data.source["origin"] == "tables"
    assert data.split.name == "random-60-20-20-seed-0"


def test_every_kind_of_table_gives_the_same_data(nodes, edges, tmp_path):
    expected = load(nodes, edges).data
    settings = TableSettings()
    frame = pd.read_csv(nodes, dtype={"id": str}), pd.read_csv(edges, dtype=str)
    found = [load_tables(settings, nodes=frame[0], edges=frame[1])]
    found.append(load_tables(settings, nodes=pl.from_pandas(frame[0]), edges=frame[1]))
    arrow = [pa.Table.from_pandas(table) for table in frame]
    found.append(load_tables(settings, nodes=arrow[0], edges=arrow[1]))
    for name, table in zip(("n", "e"), frame, strict=True):
        table.to_csv(tmp_path / f"{name}.tsv", sep="\t", index=False)
        table.to_parquet(tmp_path / f"{name}.parquet")
        table.to_json(tmp_path / f"{name}.jsonl", orient="records", lines=True)
    for ending in ("tsv", "parquet", "jsonl"):
        found.append(
            load(str(tmp_path / f"n.{ending}"), tmp_path.joinpath(f"e.{ending}").as_posix())
        )
    for tables in found:
        assert tables.ids.to_pylist()[0] == "007"
        assert tables.data.source == expected.source
        assert tables.data.split.label == expected.split.label


def test_whole_numbers_stay_whole_numbers_and_find_the_text_of_a_csv(edges, write):
    nodes = pa.table({"id": [3, 1, 2, 10], "label": ["a", "b", "a", "b"]})
    links = write("links.csv", "source,target\n1,2\n3,1\n")
    tables = load_tables(TableSettings(), nodes=nodes, edges=str(links), split="50/50/0")
    assert tables.ids.to_pylist() == [3, 1, 2, 10]
    assert tables.data.graph.edge_index.T.tolist() == [[1, 0], [0, 1], [2, 1], [1, 2]]


def test_ids_of_pandas_with_gaps_elsewhere_are_whole_again():
    nodes = pd.DataFrame({"id": [1.0, 2.0, 3.0, 4.0], "label": [0.0, 1.0, 0.0, 1.0]})
    edges = pd.DataFrame({"a": [1, 2], "b": [2, 3]})
    tables = load_tables(TableSettings(), nodes=nodes, edges=edges, split="50/50/0")
    assert tables.ids.to_pylist() == [1, 2, 3, 4]
    assert tables.data.class_names == ("0", "1")


def test_directions_and_weights_are_kept_when_asked_for(nodes, edges):
    graph = load(nodes, edges, weight="weight", direction="kept").data.graph
    assert graph.edge_index.T.tolist()[:2] == [[5, 0], [0, 1]]
    assert graph.edge_weight.tolist() == [3, 1, 2, 0.5, 1, 1]
    both = load(nodes, edges, weight="weight").data.graph
    assert both.is_symmetric
    assert both.edge_weight.sum() == 17


def test_the_record_changes_with_the_content_and_only_with_it(nodes, edges, write):
    before = load(nodes, edges).data.source["sha256"]
    with open(nodes, encoding="utf-8") as stream:
        text = stream.read()
    same = write("same.csv", text.replace("\n", "\r\n").replace("c,ham", "\r\nc,ham"))
    assert load(str(same), edges).data.source["sha256"] == before
    for old, new in (("k,spam", "k,ham"), ("12,x", "13,x"), ("spam", "eggs")):
        other = write("other.csv", text.replace(old, new))
        assert load(str(other), edges).data.source["sha256"] != before


def test_columns_found_by_rule_are_named_in_the_settings_that_come_back(write):
    nodes = write("n.csv", "Label,name,ID\na,x,1\nb,x,2\na,x,3\nb,y,4\n")
    edges = write("e.csv", "kind,to,from\nk,1,2\n")
    found = load(str(nodes), str(edges), split="50/50/0").settings
    assert (found.id, found.label, found.source, found.target) == ("ID", "Label", "from", "to")


def test_without_columns_of_features_the_graph_stands_in(nodes, edges):
    for features in ("", "!*"):
        tables = load(nodes, edges, features=features)
        degree = torch.tensor([2.0] * 6 + [0.0] * 6)
        assert torch.allclose(tables.data.x, torch.stack([torch.ones(12), degree.log1p()], dim=1))
        assert "log(1 + degree) stand in" in tables.data.source["features"]


@pytest.mark.parametrize(
    ("features", "names"),
    [
        ("*", ["age", "kind=x", "kind=y"]),
        ("a*", ["age"]),
        ("!k*", ["age"]),
        ("kind, age", ["age", "kind=x", "kind=y"]),
        ("*,!age", ["kind=x", "kind=y"]),
    ],
)
def test_features_are_chosen_by_name_and_pattern(nodes, edges, features, names):
    assert load(nodes, edges, features=features).recipe.feature_names == names


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
    tables = load(str(nodes), edges, split="part")
    assert tables.recipe.column_names == ["size"]
    split = tables.data.split
    assert split.name == "column-part"
    assert split.train.tolist() == [0, 1, 2, 3]
    assert split.val.tolist() == [4, 5, 8]
    assert split.test.tolist() == [6]


def test_a_bag_of_words_stays_sparse(edges):
    words = torch.rand(40, 300, generator=torch.Generator().manual_seed(0)) < 0.02
    columns = {f"w{k}": words[:, k].int().numpy() for k in range(300)}
    nodes = pa.table({"id": list(range(40)), "label": ["a", "b"] * 20, **columns})
    links = pa.table({"source": [0, 1], "target": [1, 2]})
    x = load_tables(TableSettings(), nodes=nodes, edges=links).data.x
    assert isinstance(x, CSR)
    assert torch.equal(x.to_dense(), words.float())


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
    data = load(str(tmp_path / "nodes.csv"), str(tmp_path / "edges.csv"), split="part").data
    assert torch.equal(data.graph.edge_index, cora.graph.edge_index)
    assert torch.equal(data.x.pattern.col, cora.x.pattern.col)
    assert torch.equal(data.x.pattern.rowptr, cora.x.pattern.rowptr)
    assert data.split.fingerprint == cora.split.fingerprint
    assert [data.class_names[k] for k in data.y] == [cora.class_names[k] for k in cora.y]


def test_edges_to_unknown_ids_are_dropped_on_request_and_counted(nodes, write):
    edges = write("e.csv", "source,target\n007,a\nzz,a\na,yy\n")
    data = load(nodes, str(edges), unknown_ids="drop").data
    assert data.graph.num_edges == 2
    assert data.source["dropped"] == "2 edges to unknown ids"


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
        tables = load(str(nodes), str(edges), split="50/50/0", direction="kept")
    assert tables.ids.to_pylist() == ids
    found = tables.data.graph.edge_index.T.tolist()
    assert {tuple(pair) for pair in found} == {(i, j) for i, j in pairs if i != j}
    for value, feature in zip(number, tables.data.x[:, 0].tolist(), strict=False):
        assert value is None or feature == pytest.approx(value, rel=1e-6)


def test_an_unknown_direction_is_refused(nodes, edges):
    with pytest.raises(UnknownNameError, match="Did you mean 'kept'"):
        load(nodes, edges, direction="keep")


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
