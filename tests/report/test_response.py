from dataclasses import replace

import pytest

from akgnn.errors import DataError
from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.layers.kernels import KERNELS, SignedKernel
from akgnn.report.response import kind_of, mean_scalars, readout_of, responses_of
from akgnn.runs.plan import RunPlan, RunSettings
from report_data import FIRST, SECOND, figure_records, homophily_records, table_records


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
    assert responses[0].scalars == (2.5, 2.0, 1.5)
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
    assert len(response.scalars) == 5


def test_a_preset_as_it_stands_goes_before_deeper_stacks(tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(
        f'title = "Two"\ndatasets = ["{FIRST}"]\nseeds = 1\n[vary]\nnum_layers = [5, 7]\n'
        '[[rows]]\nlabel = "AKGNN"\nmodel = "akgnn"\n'
    )
    spec = read_spec(file)
    (response,) = responses_of(collect(spec, figure_records(spec)), None)
    assert len(response.scalars) == 5


def test_tau_and_lambda_have_a_stack_each(homophily_file):
    spec = read_spec(homophily_file)
    responses = responses_of(collect(spec, homophily_records(spec)), None)
    assert [(response.name, response.kind) for response in responses[:2]] == [
        ("csbm:homophily=0.8,num_nodes=60, τ", "tau"),
        ("csbm:homophily=0.8,num_nodes=60, λ", "lambda"),
    ]
    # τ at the mean share of neighbours over the seeds.
    assert responses[0].scalars == pytest.approx((0.315 / 0.685, 1.0), abs=1e-4)
    assert responses[0].drawn()["tau"] == list(responses[0].scalars)
    assert "lambda" not in responses[0].drawn()
    assert responses[1].drawn()["lambda"] == [2.5, 2.0]


def test_several_scalars_a_layer_are_no_one_curve(tmp_path, homophily_file):
    text = homophily_file.read_text().replace("num_layers = 2 }", "num_layers = 1, groups = 2 }")
    (tmp_path / "groups.toml").write_text(text)
    spec = read_spec(tmp_path / "groups.toml")
    results = collect(spec, homophily_records(spec))
    assert mean_scalars(results[0]) == []


def test_a_kernel_of_ones_own_is_drawn_by_its_weights(monkeypatch):
    class Mine(SignedKernel.__base__):
        pass

    assert kind_of(RunPlan.make(RunSettings(), {"kernel": "smooth"})) == "lambda"
    assert kind_of(RunPlan.make(RunSettings(model="gcn"))) == "lambda"
    Mine.__abstractmethods__ = frozenset()
    monkeypatch.setitem(KERNELS, "mine", Mine())
    assert kind_of(RunPlan.make(RunSettings(), {"kernel": "mine"})) == "beta"
