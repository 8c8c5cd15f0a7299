from dataclasses import replace

import pytest

from akgnn.errors import DataError
from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.report.response import readout_of, responses_of
from akgnn.training.plan import RunPlan
from report_data import FIRST, SECOND, figure_records, table_records


@pytest.fixture
def results(spec_files):
    table, _, figure, _ = map(read_spec, spec_files)
    return [
        *collect(figure, figure_records(figure)),
        *collect(table, table_records(table)),
    ]


def test_each_graph_has_the_deepest_stack_and_its_spectrum(results):
    responses = responses_of(results, None)
    assert [response.name for response in responses] == [FIRST, SECOND]
    assert responses[0].lambda_max == (2.5, 2.0, 1.5)
    assert sum(responses[0].spectrum.share) == pytest.approx(1)
    assert responses[0].note == "60 nodes, all frequencies computed."


def test_data_that_cannot_be_had_leave_the_curves_alone(results, monkeypatch):
    def fail(self, root):
        raise DataError("There is no such file.")

    monkeypatch.setattr(RunPlan, "load", fail)
    response = responses_of(results, None)[0]
    assert response.spectrum is None
    assert response.note == "No spectrum: There is no such file."
    assert response.drawn()["share"] == []


def test_the_papers_preset_goes_before_others(tmp_path):
    file = tmp_path / "two.toml"
    rows = [
        f'[[rows]]\nlabel = "{preset}"\nmodel = "akgnn"\npreset = "{preset}"\n'
        for preset in ("akgnn-consistency", "paper")
    ]
    file.write_text(f'title = "Two"\ndatasets = ["{FIRST}"]\nseeds = 1\n' + "\n".join(rows))
    spec = read_spec(file)
    records = [
        replace(r, lambda_max=(2.0,) * r.plan.preset.model.num_layers) for r in figure_records(spec)
    ]
    results = collect(spec, records)
    assert [readout_of(result.cell.template) for result in results] == ["mean-with-input", "mean"]
    (response,) = responses_of(results, None)
    assert response.readout == "mean"
    assert len(response.lambda_max) == 5


def test_a_preset_as_it_stands_goes_before_deeper_stacks(tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(
        f'title = "Two"\ndatasets = ["{FIRST}"]\nseeds = 1\n[vary]\nnum_layers = [5, 7]\n'
        '[[rows]]\nlabel = "AKGNN"\nmodel = "akgnn"\n'
    )
    spec = read_spec(file)
    (response,) = responses_of(collect(spec, figure_records(spec)), None)
    assert len(response.lambda_max) == 5
