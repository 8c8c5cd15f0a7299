"""Labels, categories and ids that look alike, in tables."""

import pandas as pd
import pytest

import akgnn
from akgnn.cli.main import main
from akgnn.errors import DataError, LookAlikeWarning
from akgnn.estimator.classifier import AKGNNClassifier

LABELS = ["a", " a", "b", "b"] * 10


def frames(labels=LABELS, **columns):
    nodes = pd.DataFrame({"id": range(40), "label": labels, "age": range(40), **columns})
    edges = pd.DataFrame({"source": range(39), "target": range(1, 40)})
    return nodes, edges


def test_labels_that_look_alike_are_told_and_stay_apart():
    with pytest.warns(LookAlikeWarning, match="labels that look alike.*' a', 'a'"):
        data = akgnn.load_tables(*frames())
    assert data.class_names == (" a", "a", "b")


def test_numbers_written_otherwise_are_told():
    with pytest.warns(LookAlikeWarning, match="'01', '1', '1.0'"):
        akgnn.load_tables(*frames(["1", "1.0", "01", "2"] * 10))


def test_categories_that_look_alike_are_told():
    with pytest.warns(LookAlikeWarning, match="column 'city': categories.*'oslo', 'oslo '"):
        akgnn.load_tables(*frames(["a", "b"] * 20, city=["oslo", "oslo ", "rome", "rome"] * 10))


def test_the_estimator_tells_it_too():
    nodes, _ = frames()
    with pytest.warns(LookAlikeWarning, match="y: labels"):
        AKGNNClassifier(epochs=2).fit(nodes[["age"]], nodes["label"].to_numpy())


def test_the_command_line_tells_it_in_one_line(tmp_path, capsys):
    nodes, edges = frames(city=["oslo", "oslo ", "rome", "rome"] * 10)
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    tables = ["--nodes", str(tmp_path / "nodes.csv"), "--edges", str(tmp_path / "edges.csv")]
    assert main(["train", *tables, "--preset", "any-graph", "--set", "epochs=2"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" that look alike")[0] for line in lines] == [
        "akgnn: Labels",
        "akgnn: Categories of column 'city'",
    ]


@pytest.mark.parametrize("wrong", ["07", " p1"])
def test_an_unknown_id_that_looks_like_a_node_is_told(wrong):
    nodes, edges = frames(["a", "b"] * 20)
    known = ["7", "p1", *map(str, range(100, 138))]
    edges = pd.DataFrame({"source": [wrong], "target": ["100"]})
    with pytest.raises(DataError, match=f"'{wrong}' looks like the node '{wrong.strip(' 0')}'"):
        akgnn.load_tables(nodes.assign(id=known), edges)
