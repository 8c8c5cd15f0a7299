import pytest

from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.report.varied_figure import varied_panels
from report_data import FIRST, HOSTILE, SECOND, VARIED, varied_records


@pytest.fixture
def read(tmp_path):
    def read(text=VARIED):
        file = tmp_path / "varied.toml"
        file.write_text(text, encoding="utf-8")
        return read_spec(file)

    return read


def panels_of(spec, keep=lambda cell: True):
    kept = collect(spec, varied_records(spec))
    return varied_panels([result for result in kept if keep(result.cell)])


def test_a_panel_for_each_graph_and_a_line_for_each_row(read):
    first, second = panels_of(read())
    assert (first.title, second.title) == (FIRST, SECOND)
    assert first.key == ["AKGNN", HOSTILE]
    assert first.columns == ("hidden channels", "AKGNN", HOSTILE)
    # Numbers rise, whatever the order of the spec.
    assert first.drawn["values"] == ["4", "8", "16"]
    line = first.drawn["rows"][0]
    assert line["x"] == ["4", "8", "16"]
    assert line["mean"] == [72.1, 70.1, 71.1]
    assert line["std"] == [0.1, 0.1, 0.1]
    assert first.rows[2] == ("16", "71.1 ± 0.1, n 3", "77.1 ± 0.1, n 3")
    assert f"over hidden channels, means: AKGNN 72.1 at 4, 71.1 at 16; {HOSTILE} " in first.summary
    assert second.drawn["metric"] == "test macro F1 %"


def test_a_row_may_lack_a_value(read):
    lacking = lambda cell: cell.row.model != "akgnn" or cell.point["hidden_channels"] != 8  # noqa: E731
    first, _ = panels_of(read(), lacking)
    assert first.drawn["rows"][0]["x"] == ["4", "16"]
    assert first.drawn["values"] == ["4", "8", "16"]
    assert first.rows[1] == ("8", "–", "76.1 ± 0.1, n 3")


def test_splits_by_class_are_shown_by_their_number_of_nodes(read):
    text = VARIED.replace("hidden_channels = [8, 16, 4]", 'split = ["2-per-class", "5-per-class"]')
    first, _ = panels_of(read(text))
    assert first.drawn["setting"] == "training nodes a class"
    assert first.drawn["values"] == ["2", "5"]
    mixed, _ = panels_of(read(text.replace("2-per-class", "60/20/20")))
    assert (mixed.drawn["setting"], mixed.drawn["values"]) == ("split", ["60/20/20", "5-per-class"])
