import pytest

from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.report.ranking import rankings_of
from akgnn.report.story import best_sentence, learning_sentence, paying_sentence
from akgnn.report.tables import table_of
from report_data import FIRST, HOSTILE, SECOND, record_of, table_records, table_spec

KERNELS = """title = "Kernels"
datasets = ["cora", "citeseer"]
seeds = 6
[[rows]]
label = "{first}"
model = "akgnn"
set = {{ kernel = "{kernel}" }}
[[rows]]
label = "fixed"
model = "akgnn"
set = {{ learn_lambda = false }}
[[rows]]
label = "shallow, fixed"
model = "akgnn"
set = {{ learn_lambda = false, num_layers = 2 }}
"""


def measured(tmp_path, kernel, gains, seeds=6):
    """A table whose first row is above λ fixed by so many points on each of two graphs."""
    file = tmp_path / "mine.toml"
    file.write_text(KERNELS.format(first="learned", kernel=kernel))
    spec = read_spec(file)
    records = [
        record_of(cell, seed, 80.0 + seed / 10 + gain * (1 + seed / 100))
        for cell in spec.cells
        for seed in range(seeds)
        for gain in [gains[cell.dataset] if cell.row.label == "learned" else 0.0]
    ]
    results = collect(spec, records)
    return [(table_of(spec, results), results)]


@pytest.fixture
def rankings(tmp_path):
    spec = table_spec(tmp_path)
    return rankings_of(collect(spec, table_records(spec)))


def test_the_best_is_named_for_every_graph(rankings):
    sentence = best_sentence("mine", rankings)
    assert sentence.text == f"On {FIRST} {HOSTILE}, 82.2 %; on {SECOND} {HOSTILE}, 82.2 %."
    assert sentence.source == "mine"


def test_of_many_graphs_some_are_named(rankings):
    assert best_sentence("mine", rankings * 3).text.endswith("; 2 more graphs below.")


def test_those_that_cannot_be_told_apart_stand_together(tmp_path):
    spec = table_spec(tmp_path)
    few = [record for record in table_records(spec) if record.seed < 2]
    text = best_sentence("mine", rankings_of(collect(spec, few))).text
    assert f"On {FIRST} {HOSTILE}, AKGNN and 1 other, 82.0 %" in text
    assert text.endswith("Of those named together none is shown to be better.")


def test_one_run_is_too_few(tmp_path):
    spec = table_spec(tmp_path)
    one = [record for record in table_records(spec) if record.seed == 0]
    text = best_sentence("mine", rankings_of(collect(spec, one))).text
    assert f"On {FIRST} {HOSTILE} with 82.0 %, of too few runs to tell" in text


def test_learning_is_compared_with_the_same_network_fixed(tmp_path):
    sentence = learning_sentence(measured(tmp_path, "paper", {"cora": 2.0, "citeseer": 0.0}))
    assert "learning λ adds +2.0 [+2.0, +2.1] on Cora and ±0.0" in sentence.text
    assert "higher on Cora; no difference shown on CiteSeer." in sentence.text


def test_another_kernel_is_not_learning_alone(tmp_path):
    tables = measured(tmp_path, "signed", {"cora": 2.0, "citeseer": 0.0})
    assert learning_sentence(tables) is None
    text = paying_sentence(tables).text
    assert "learned is above the same network with λ fixed on Cora (+2.0 [+2.0, +2.1])" in text
    assert text.endswith("not shown to differ on CiteSeer.")


def test_where_a_kernel_pays_nowhere_nothing_is_said(tmp_path):
    tables = measured(tmp_path, "signed", {"cora": -2.0, "citeseer": 0.0})
    assert paying_sentence(tables) is None


def test_tables_without_a_twin_say_nothing(tmp_path):
    spec = table_spec(tmp_path)
    results = collect(spec, table_records(spec))
    tables = [(table_of(spec, results), results)]
    assert learning_sentence(tables) is None
    assert paying_sentence(tables) is None
