from dataclasses import replace

import pytest

from akgnn.cli.kernel_lines import kernel_columns, kernel_lines, no_edges
from akgnn.report.words import NO_EDGES
from akgnn.training.plan import RunPlan, RunSettings
from akgnn.training.starts import TriedStart
from akgnn.training.train_runs import train_run

SHORT = {"epochs": 1, "hidden_channels": 4, "num_layers": 2}


def result(lambda_max=(), shares=(), starts=(), *, model="akgnn", num_edges=10, **changes):
    """A run whose kernels have these values."""
    short = {name: value for name, value in SHORT.items() if model == "akgnn" or name == "epochs"}
    plan = RunPlan.make(
        RunSettings(dataset="csbm:num_nodes=100", model=model), {**short, **changes}
    )
    run = train_run(plan, plan.load())
    values = {"lambda_max": lambda_max, "neighbour_share": shares, "starts": starts}
    return replace(run, data={**run.data, "num_edges": num_edges}, fit=replace(run.fit, **values))


def test_a_kernel_with_lambda_shows_it_alone():
    shown = result((2.5, 1.25), (0.8, 0.9))
    assert kernel_lines(shown) == [("λ per layer", "2.50  1.25")]
    assert kernel_columns([shown, shown]) == {"λ per layer": ["2.50  1.25"] * 2}


def test_a_signed_kernel_shows_its_start_tau_and_shares():
    starts = (TriedStart("GCN, fixed", 1, 1.0, 50.0, False), TriedStart("1", 1, 0.9, 50.0, True))
    shown = result((), (0.5, -0.25), starts, kernel="signed")
    assert kernel_lines(shown) == [
        ("start", "1; best of 2 by validation"),
        ("τ per layer", "1.00  -0.33"),
        ("neighbours", "0.50  -0.25"),
    ]
    assert kernel_columns([shown]) == {"start": ["1"], "τ per layer": ["1.00  -0.33"]}


def test_ways_and_groups_have_a_line_each():
    directed = {"kernel": "signed", "kernel_start": 1.0, "normalisation": "directed"}
    shown = result((), (0.25, -0.5, 0.0, 0.5), **directed)
    # Of the first layer a quarter is left of the node itself, of the second a half.
    assert kernel_lines(shown) == [
        ("τ, in", "1.00  0.00"),
        ("τ, out", "-2.00  1.00"),
        ("neighbours, in", "0.25  0.00"),
        ("neighbours, out", "-0.50  0.50"),
    ]
    # A table of several runs has no room for them.
    assert kernel_columns([shown]) == {}
    grouped = result((1.5, 2.5, 3.5, 4.5), (0.5,) * 4, groups=2)
    assert kernel_lines(grouped) == [("λ, group 1", "1.50  3.50"), ("λ, group 2", "2.50  4.50")]


def test_many_groups_are_summed_up():
    values = tuple(2.0 + k / 8 for k in range(16))
    shown = result(values, (0.5,) * 16, groups=8, hidden_channels=8)
    assert kernel_lines(shown) == [("λ", "2.00 to 3.88, 8 a layer")]


def test_a_model_without_kernels_shows_nothing():
    shown = result(model="sgc")
    assert kernel_lines(shown) == []
    assert kernel_columns([shown]) == {}


@pytest.mark.parametrize(("model", "sentence"), [("akgnn", NO_EDGES), ("sgc", "")])
def test_without_edges_a_model_with_kernels_says_so(model, sentence):
    assert no_edges(result((), (), model=model, num_edges=0)) == sentence
    assert no_edges(result((), (), model=model)) == ""
