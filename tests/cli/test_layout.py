import pytest
from rich.cells import cell_len

from akgnn.cli.layout import Styled, table_lines, table_width, wrapped

WIDE = ["layer", "λ", "neighbours", "all-pass", "low-pass", "share of nodes"]
NUMBERS = [["1", "2.144", "0.77", "1.067", "−0.933", "12.5"], ["2", "1.738", "0.84", "1", "2", "3"]]


def test_prose_breaks_at_spaces_and_keeps_its_indent():
    text = "  the quick brown fox jumps over the lazy dog"
    assert wrapped(text, 20) == ["  the quick brown", "  fox jumps over the", "  lazy dog"]
    assert wrapped(text, 20, hang=4)[1:] == ["    fox jumps over", "    the lazy dog"]
    assert wrapped(text, None) == [text]
    assert wrapped("", 20) == [""]


def test_spaces_within_a_line_are_kept():
    assert wrapped("accuracy   81.2 %   (balanced)", 22) == ["accuracy   81.2 %", "(balanced)"]


def test_a_word_wider_than_the_terminal_has_a_line_of_its_own():
    assert wrapped("see a/very/long/path here", 10) == ["see", "a/very/long/path", "here"]


@pytest.mark.parametrize("glued", ["81.2 %", "84.6 ± 0.5 %", "12 s", "3 MiB", "akgnn train"])
def test_what_belongs_together_stays_on_a_line(glued):
    for width in range(max(len(glued), 5), 30):
        lines = wrapped(f"one two three {glued} four five", width)
        assert any(glued in line for line in lines)
        assert max(map(len, lines)) <= width


def test_letters_of_double_width_count_twice():
    assert wrapped("漢字 漢字 漢字", 9) == ["漢字 漢字", "漢字"]
    lines = table_lines(["class", "n"], [["漢字漢字", "1"], ["ab", "22"]], "lr", None)
    assert {cell_len(line) for line in lines} == {12}


def test_a_table_that_fits_is_left_alone():
    whole = table_lines(WIDE, NUMBERS, "lrrrrr", None)
    assert len(whole) == 3
    assert max(map(len, whole)) == table_width(WIDE, NUMBERS)
    assert table_lines(WIDE, NUMBERS, "lrrrrr", table_width(WIDE, NUMBERS)) == whole


def test_headings_are_wrapped_before_columns_are_parted():
    lines = table_lines(WIDE, NUMBERS, "lrrrrr", table_width(WIDE, NUMBERS) - 1)
    assert lines[0].split() == ["share", "of"]
    assert lines[1].split() == ["layer", "λ", "neighbours", "all-pass", "low-pass", "nodes"]
    assert len(lines) == 4


def test_columns_that_do_not_fit_stand_in_tables_below_each_headed_by_the_first():
    lines = table_lines(WIDE, NUMBERS, "lrrrrr", 34)
    blocks = "\n".join(lines).split("\n\n")
    assert [block.split("\n")[-1].split() for block in blocks] == [
        ["2", "1.738", "0.84"],
        ["2", "1", "2", "3"],
    ]
    assert max(map(len, lines)) <= 34


def test_text_in_columns_is_wrapped():
    rows = [["akgnn", "Adaptive Kernel Graph Neural Network"], ["gcn", "Networks"]]
    assert table_lines(["name", "paper"], rows, "ll", 30) == [
        "name   paper",
        "akgnn  Adaptive Kernel Graph",
        "       Neural Network",
        "gcn    Networks",
    ]


def test_rows_too_wide_for_two_columns_become_lists():
    rows = [["node-of-a-long-name", "Reinforcement_Learning", "0.5"]]
    assert table_lines(["node", "class", "%"], rows, "llr", 34) == [
        "node-of-a-long-name",
        "  class: Reinforcement_Learning",
        "  %: 0.5",
    ]


@pytest.mark.parametrize("width", range(12, 60))
def test_no_width_breaks_a_number(width):
    lines = table_lines(WIDE, NUMBERS, "lrrrrr", width)
    words = " ".join(lines).split()
    assert {cell for row in NUMBERS for cell in row} <= set(words)
    assert max(map(len, lines)) <= max(width, len("neighbours") + 4)


def test_styles_are_painted_and_take_no_room():
    def paint(text, style):
        return f"<{style}>{text}</>"

    rows = [["a", Styled("kept", "green")], ["b", ""]]
    lines = table_lines(["x", "y"], rows, "ll", None, paint)
    assert lines == ["<bold>x</>  <bold>y</>", "a  <green>kept</>", "b"]
