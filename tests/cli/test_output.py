import json
import math

from akgnn.cli.output import numbers, print_json, print_table


def test_nan_is_null_in_json(capsys):
    print_json({"a": math.nan, "b": [1.5, math.inf], "c": (1, "x", None)})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [1.5, None], "c": [1, "x", None]}


def test_columns_are_aligned(capsys):
    print_table(["name", "n"], [["a", "1"], ["longer", "100"]])
    assert capsys.readouterr().out == "name      n\na         1\nlonger  100\n"


def test_numbers_stand_in_a_row():
    assert numbers([2.344, 1.0]) == "2.34  1.00"
