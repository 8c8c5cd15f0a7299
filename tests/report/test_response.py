from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from akgnn.data.catalogue import load_dataset
from akgnn.errors import DataError, GraphError
from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.graph import Graph
from akgnn.layers.kernels import KERNELS, SignedKernel
from akgnn.report.response import (
    jackson,
    kind_of,
    mean_scalars,
    readout_of,
    responses_of,
    spectrum_of,
)
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
    assert response.shares() == []


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


def graph_of(dense):
    return Graph.from_scipy(sparse.coo_array(np.asarray(dense, dtype=np.float64)))


def random_graph(nodes, edges, seed=0):
    generator = torch.Generator().manual_seed(seed)
    index = torch.randint(nodes, (2, edges), generator=generator)
    return Graph.from_edge_index(torch.cat([index, index.flip(0)], 1), num_nodes=nodes)


def test_a_complete_graph_has_two_frequencies():
    spectrum = spectrum_of(graph_of(1 - np.eye(5)), bins=8)
    # 0 once and 5 / 4 four times; bins are a quarter wide.
    assert spectrum.share == pytest.approx([0.2, 0, 0, 0, 0, 0.8, 0, 0])
    assert spectrum.is_exact


def test_a_path_of_two_nodes_reaches_both_ends():
    spectrum = spectrum_of(graph_of([[0, 1], [1, 0]]), bins=4)
    assert spectrum.share == (0.5, 0, 0, 0.5)
    assert spectrum.edges == (0, 0.5, 1, 1.5, 2)


def test_an_isolated_node_has_frequency_zero():
    edges = torch.tensor([[0, 1], [1, 0]])
    spectrum = spectrum_of(Graph.from_edge_index(edges, num_nodes=4), bins=4)
    assert spectrum.share == (0.75, 0, 0, 0.25)


def test_a_directed_edge_counts_both_ways():
    one_way = Graph.from_edge_index(torch.tensor([[0], [1]]), num_nodes=2)
    assert spectrum_of(one_way, bins=4).share == (0.5, 0, 0, 0.5)


def test_shares_are_those_of_the_dense_laplacian():
    graph = random_graph(40, 90)
    dense = np.zeros((40, 40))
    source, target = graph.edge_index.numpy()
    dense[target, source] = 1
    degree = dense.sum(1)
    scale = np.diag(1 / np.sqrt(np.where(degree == 0, 1, degree)))
    laplacian = np.diag((degree > 0).astype(float)) - scale @ dense @ scale
    counts, _ = np.histogram(np.linalg.eigvalsh(laplacian).clip(0, 2), np.linspace(0, 2, 14))
    assert spectrum_of(graph, bins=13).share == pytest.approx(counts / 40)


def test_the_estimate_is_near_the_exact_spectrum():
    graph = random_graph(1200, 2400)
    exact = np.cumsum(spectrum_of(graph, bins=40).share)
    estimate = spectrum_of(graph, bins=40, most_nodes=100)
    assert not estimate.is_exact
    assert sum(estimate.share) == pytest.approx(1)
    # In the middle of a bin that holds many equal frequencies the estimate is smeared.
    assert np.abs(np.cumsum(estimate.share) - exact).mean() < 0.005
    assert np.abs(np.cumsum(estimate.share) - exact).max() < 0.02


def test_the_estimate_repeats():
    graph = random_graph(300, 700)
    first, second = (spectrum_of(graph, most_nodes=10) for _ in range(2))
    assert first == second


def test_jackson_damps_from_one_towards_zero():
    factors = jackson(50)
    assert factors[0] == pytest.approx(1)
    assert (np.diff(factors) < 0).all()
    assert 0 <= factors[-1] < 0.01


def test_negative_weights_are_refused():
    graph = graph_of([[0, -1], [-1, 0]])
    with pytest.raises(GraphError, match="Negative edge weights"):
        spectrum_of(graph)


def test_large_graphs_are_estimated_from_fewer_vectors(monkeypatch):
    graph = load_dataset("csbm:num_nodes=1500").graph
    exact = spectrum_of(graph)
    monkeypatch.setattr("akgnn.report.response._MANY_ENTRIES", 0)
    found = spectrum_of(graph, most_nodes=0)
    assert not found.is_exact
    below = [np.cumsum(spectrum.share) for spectrum in (found, exact)]
    assert np.abs(below[0] - below[1]).max() < 0.05
    monkeypatch.undo()
    assert spectrum_of(graph, most_nodes=0).share != found.share
