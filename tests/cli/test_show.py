import json
import math

from akgnn.cli.show import data_line, numbers, print_json, print_table
from akgnn.runs.facts import DataFacts


def test_nan_is_null_in_json(capsys):
    print_json({"a": math.nan, "b": [1.5, math.inf], "c": (1, "x", None)})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [1.5, None], "c": [1, "x", None]}


def test_columns_are_aligned(capsys):
    print_table(["name", "n"], [["a", "1"], ["longer", "100"]])
    assert capsys.readouterr().out == "name      n\na         1\nlonger  100\n"


def test_numbers_stand_in_a_row():
    assert numbers([2.344, 1.0]) == "2.34  1.00"
    assert numbers([2.344, 1.0], digits=1) == "2.3  1.0"


def test_sides_may_be_chosen(capsys):
    print_table(["a", "b", ""], [["1", "long", "x"], ["100", "s", ""]], "rll")
    assert capsys.readouterr().out == "  a  b\n  1  long  x\n100  s\n"


def test_data_stand_in_a_line():
    facts = DataFacts("tables", 20, 30, 4, ("a", "b"), "random:0", {})
    assert data_line("papers", facts) == "papers: 20 nodes, 30 edges, 4 features, 2 classes"
