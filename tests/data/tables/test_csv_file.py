import pytest

from akgnn.data.tables.csv_file import open_csv
from akgnn.errors import DataError


@pytest.mark.parametrize(
    "content",
    [
        "id,a\n007,1\nb,\n",
        "\ufeffid,a\n007,1\nb,\n",
        "id,a\r\n007,1\r\nb,\r\n",
        "id,a\r007,1\rb,\r",
        '"id","a"\n"007","1"\n"b",""\n',
        "\n\nid,a\n\n007,1\n\nb,NA",
        "id,a\n007,1\nb,nan\n",
        "id,a\n007,1\nb,null\n",
    ],
)
def test_every_form_of_a_file_is_read(write, content):
    opened = open_csv(write("a.csv", content), ",")
    assert opened.columns == ("id", "a")
    table = opened.read(["a", "id"], text=["id"])
    assert table.content.to_pydict() == {"a": [1, None], "id": ["007", "b"]}


def test_only_empty_texts_are_missing(write):
    table = open_csv(write("a.csv", "id,a\nNA,null\nnan,\nc,x\n"), ",").read(["id", "a"], ["id"])
    assert table.content.to_pydict() == {"id": ["NA", "nan", "c"], "a": ["null", "", "x"]}


def test_a_column_is_text_if_a_late_value_is(write):
    lines = "".join(f"{k},{k}\n" for k in range(700_000)) + "x,y\n"
    content = open_csv(write("a.csv", "id,a\n" + lines), ",").read(["a"]).content
    assert content["a"].num_chunks > 1
    assert content["a"][-1].as_py() == "y"
    assert content["a"][3].as_py() == "3"


def test_lines_are_counted_as_an_editor_counts_them(write):
    path = write("a.csv", 'id,a\n\n1,"two\nlines"\n\n2,b\n3,c\n')
    opened = open_csv(path, ",")
    assert [opened.locate(row) for row in range(3)] == ["line 3", "line 6", "line 7"]
    assert opened.read(["id"]).content["id"].to_pylist() == [1, 2, 3]


def test_behind_a_field_too_long_to_count_lines_rows_are_counted(write):
    opened = open_csv(write("a.csv", f"id,a\n1,{'x' * 200_000}\n2,b\n"), ",")
    assert opened.locate(1) == "row 2 after the header"


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n\n"])
def test_a_byte_order_mark_alone_is_an_empty_file(tmp_path, content):
    (tmp_path / "nodes.csv").write_bytes(content)
    with pytest.raises(DataError, match="is empty; its first line must name the columns"):
        open_csv(tmp_path / "nodes.csv", ",")
