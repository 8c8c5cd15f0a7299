import xml.etree.ElementTree as ElementTree

import pytest

from akgnn.errors import UnknownNameError
from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.report.figure_documents import figure_files, figure_markdown, figure_rows
from report_data import figure_records, homophily_records

SVG = "{http://www.w3.org/2000/svg}"


def rows_of(file, records_of=figure_records):
    spec = read_spec(file)
    return figure_rows(spec.shows, "mine", collect(spec, records_of(spec)))


@pytest.fixture
def figures(spec_files, homophily_file):
    return {
        "loss": rows_of(spec_files[1]),
        "lambda": rows_of(spec_files[2]),
        "depth": rows_of(spec_files[3]),
        "homophily": rows_of(homophily_file, homophily_records),
    }


def test_every_image_has_its_file_and_words(figures):
    for rows in figures.values():
        text = figure_markdown(rows)
        files = figure_files(rows)
        assert files
        assert text.count("![") == len(files)
        for name, content in files.items():
            root = ElementTree.fromstring(content)
            summary = root.find(f"{SVG}desc").text
            assert f"](plots/{name})\n" in text
            assert len(summary) > 60


def test_images_beside_each_other_are_one_paragraph(figures):
    paragraphs = figure_markdown(figures["homophily"]).split("\n\n")
    assert [text.count("![") for text in paragraphs] == [1, 1]
    assert figure_markdown(figures["loss"]).split("\n\n")[0].count("![") == 2


def test_loss_has_training_and_validation_apart(figures):
    ((train, val),) = figures["loss"]
    assert train.summary.startswith("Training loss by epoch on ")
    assert "AKGNN 1.01 at epoch 1, 0.11 at 12" in train.summary
    assert val.summary.startswith("Validation loss")


def test_lambda_is_a_map_with_every_number(figures):
    (((drawn),),) = figures["lambda"]
    root = ElementTree.fromstring(drawn.text)
    values = [each.text for each in root.iter(f"{SVG}text") if each.get("class") == "value"]
    assert values == ["2.50", "2.50", "2.00", "2.50", "2.00", "1.50"]


def test_test_accuracy_has_an_axis_of_its_own(figures):
    ((test, training),) = figures["depth"]
    assert "71.5 at K = 1, 71.5 at 3" in test.summary
    assert ">99<" not in test.text
    assert ">99<" in training.text


def test_over_homophily_scores_come_before_shares(figures):
    (scores,), (shares,) = figures["homophily"]
    assert "AKGNN, signed 48.5 % at homophily 0" in scores.summary
    assert "layer 1 −0.48 at homophily 0" in shares.summary
    assert "links say nothing" in scores.text
    assert "<img" not in scores.text


def test_without_finished_runs_there_is_no_figure(spec_files):
    assert rows_of(spec_files[3], lambda spec: []) == []
    assert rows_of(spec_files[1], lambda spec: []) == []


def test_an_unknown_figure_is_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'depth'"):
        figure_rows("deepth", "mine", [])
