from dataclasses import replace

import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.errors import CheckpointError
from akgnn.layers.kernels import KERNELS, SignedKernel
from akgnn.models.scalars import Position
from akgnn.report.kernels import FREQUENCIES, kernel_name, learned_kernels
from akgnn.runs.facts import DataFacts
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.run import Run
from akgnn.training.history import History
from akgnn.training.result import FitResult

DATA = load_dataset("csbm:num_nodes=100")


def make(shares=(), model="akgnn", **changes):
    """A run of two layers that nobody trained."""
    layers = {"num_layers": 2} if model == "akgnn" else {}
    plan = RunPlan.make(
        RunSettings(dataset="csbm:num_nodes=100", model=model), {**layers, **changes}
    )
    result = FitResult({}, 1, 1, 0.0, (), shares, (), History())
    return Run(plan, DataFacts.of(DATA), result, trained_model=plan.build(DATA))


@pytest.mark.parametrize("kernel", ["paper", "smooth"])
def test_a_kernel_with_lambda_is_its_formula(kernel):
    run = make(kernel=kernel)
    learned = learned_kernels(run, run.model, DATA).kernels
    assert [each.position for each in learned] == [Position(1), Position(2)]
    for each in learned:
        assert (each.kernel, each.symbol, each.scalar) == (kernel, "λ", each.lambda_max)
        # Eq. 7 of the paper: the two filters weigh 2 together.
        assert each.all_pass == pytest.approx(2 - 2 / each.lambda_max)
        assert each.low_pass == pytest.approx(2 / each.lambda_max)
        expected = [1 - frequency / each.lambda_max for frequency in FREQUENCIES]
        assert each.response == pytest.approx(expected, abs=1e-6)


def test_a_signed_kernel_has_no_lambda():
    run = make(kernel="signed", kernel_start=-0.5)
    for each in learned_kernels(run, run.model, DATA).kernels:
        assert (each.kernel, each.symbol, each.lambda_max) == ("signed", "τ", None)
        assert each.scalar == pytest.approx(-0.5)
        expected = [(1 - 0.5 * (1 - frequency)) / 1.5 for frequency in FREQUENCIES]
        assert each.response == pytest.approx(expected, abs=1e-6)


def test_directions_and_groups_have_positions_of_their_own():
    run = make(kernel="signed", normalisation="directed", groups=2)
    learned = learned_kernels(run, run.model, DATA).kernels
    assert [each.position for each in learned] == [
        Position(layer, direction, group)
        for layer in (1, 2)
        for direction in ("in", "out")
        for group in (1, 2)
    ]


def test_with_the_data_shares_are_the_models_and_without_the_records():
    run = make(shares=(0.25, -0.5))
    with torch.no_grad():
        layers = [layer.neighbour_share(DATA.graph) for layer in run.model.layers]
    found = learned_kernels(run, run.model, DATA)
    shares = [each.neighbour_share for each in found.kernels]
    assert shares == pytest.approx([float(share) for share in layers])
    assert found.homophily == DATA.train_homophily
    kept = learned_kernels(run, run.model, None)
    assert [each.neighbour_share for each in kept.kernels] == [0.25, -0.5]
    assert kept.homophily is None


def test_an_old_run_without_its_data_has_no_shares():
    run = make()
    found = learned_kernels(run, run.model, None)
    assert [each.neighbour_share for each in found.kernels] == [None, None]


@pytest.mark.parametrize("shares", [(0.5,), (0.5, float("nan"))])
def test_shares_that_do_not_fit_are_refused(shares):
    run = make(shares=shares)
    with pytest.raises(CheckpointError, match="its neighbour shares do not fit the model"):
        learned_kernels(run, run.model, None)


def test_without_edges_there_are_no_shares():
    run = make(shares=(0.25, 0.5))
    alone = replace(run, facts=replace(run.facts, num_edges=0))
    found = learned_kernels(alone, run.model, None)
    assert [each.neighbour_share for each in found.kernels] == [None, None]
    assert found.words == ("The graph has no edges: every kernel is the identity.",)


def test_a_model_without_kernels_has_none():
    run = make(model="gcn")
    found = learned_kernels(run, run.model, DATA)
    assert (found.kernels, found.words) == ((), ())


def test_a_kernel_of_ones_own_goes_by_its_class_or_its_name(monkeypatch):
    mine = SignedKernel()
    assert kernel_name(mine) == "SignedKernel"
    monkeypatch.setitem(KERNELS, "mine", mine)
    assert kernel_name(mine) == "mine"
