import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.layers.kernels import KERNELS, SignedKernel
from akgnn.models.akgnn import AKGNN
from akgnn.training.kernel_places import Place, by_strand, places_of, scalars_of, symbol_of
from akgnn.training.plan import RunPlan, RunSettings


def plan_of(model="akgnn", **changes):
    return RunPlan.make(RunSettings(model=model), changes)


def test_places_go_layer_by_layer_way_by_way_group_by_group():
    plan = plan_of(num_layers=2, groups=2, normalisation="directed")
    assert [place.text for place in places_of(plan)] == [
        f"layer {layer}, {way}, group {group}"
        for layer in (1, 2)
        for way in ("in", "out")
        for group in (1, 2)
    ]
    assert places_of(plan_of(num_layers=2)) == [Place(1), Place(2)]
    assert Place(2).text == "layer 2"


def test_a_model_without_kernels_has_no_places():
    plan = plan_of("gcn")
    assert places_of(plan) == []
    assert symbol_of(plan) == ""
    assert scalars_of(plan, (), ()) == []


@pytest.mark.parametrize("normalisation", ["sym", "directed"])
@pytest.mark.parametrize("groups", [1, 2])
def test_tau_comes_back_from_the_shares(normalisation, groups):
    changes = {"kernel": "signed", "normalisation": normalisation, "groups": groups}
    plan = plan_of(num_layers=3, **changes)
    graph = load_dataset("csbm:num_nodes=60").graph
    model = AKGNN(4, 8, 2, num_layers=3, **changes)
    with torch.no_grad():
        for layer in model.layers:
            layer.phi.uniform_(-3, 10)
        shares = model.neighbour_share(graph).view(-1).tolist()
        learned = torch.cat([layer.scalar.view(-1) for layer in model.layers]).tolist()
    assert scalars_of(plan, (), shares) == pytest.approx(learned, rel=1e-4)
    assert symbol_of(plan) == "τ"


def test_lambda_is_taken_as_it_was_kept():
    assert scalars_of(plan_of(num_layers=2), (2.5, 2.0), (0.7, 0.8)) == [2.5, 2.0]


def test_old_runs_and_kernels_of_ones_own_leave_it_open(monkeypatch):
    assert scalars_of(plan_of(kernel="signed"), (), ()) == []

    class Mine(SignedKernel):
        def scalar_of_share(self, neighbours, own):
            return None

    monkeypatch.setitem(KERNELS, "mine", Mine())
    assert scalars_of(plan_of(kernel="mine", num_layers=1), (), (0.5,)) == []


def test_a_share_of_one_is_a_large_scalar():
    assert SignedKernel().scalar_of_share(1.0, 0.0) == pytest.approx(1e6)


def test_strands_go_through_all_layers():
    places = places_of(plan_of(num_layers=2, normalisation="directed"))
    assert by_strand(places, [1, 2, 3, 4]) == {("in", 0): [1, 3], ("out", 0): [2, 4]}
