import pytest

from akgnn.experiments.toml_lines import TomlLines

TEXT = """title = "On the split of seeds" # split
split = { actor = "public-#", cora = 'a#"b' }

[[rows]]
label = "\\"#\\" seeds"
seeds = 3
[vary]
num_layers = [1]
"""


@pytest.mark.parametrize(
    ("row", "name", "line"),
    [
        (None, "split", 2),
        (None, "cora", 2),
        (None, "public-3", 1),
        (0, "seeds", 6),
        (0, None, 4),
        (0, "split", 2),
        (None, "vary", 7),
        (None, "num_layers", 8),
        (3, "seeds", 6),
    ],
)
def test_the_line_that_sets_a_name_is_found(row, name, line):
    assert TomlLines(TEXT).find(row, name) == line
