import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.layers.kernels import KERNELS, SignedKernel
from akgnn.models.akgnn import AKGNN
from akgnn.models.scalars import Position, by_strand, positions_of, scalars_of, symbol_of
from akgnn.runs.presets import load_preset


def settings_of(model="akgnn", **changes):
    return load_preset(model, "paper", "").updated(changes).model


def test_places_go_layer_by_layer_way_by_way_group_by_group():
    settings = settings_of(num_layers=2, groups=2, normalisation="directed")
    assert [position.text for position in positions_of(settings)] == [
        f"layer {layer}, {direction}, group {group}"
        for layer in (1, 2)
        for direction in ("in", "out")
        for group in (1, 2)
    ]
    assert positions_of(settings_of(num_layers=2)) == [Position(1), Position(2)]
    assert Position(2).text == "layer 2"


def test_a_model_without_kernels_has_no_places():
    settings = settings_of("gcn")
    assert positions_of(settings) == []
    assert symbol_of(settings) == ""
    assert scalars_of(settings, (), ()) == []


@pytest.mark.parametrize("normalisation", ["sym", "directed"])
@pytest.mark.parametrize("groups", [1, 2])
def test_tau_comes_back_from_the_shares(normalisation, groups):
    changes = {"kernel": "signed", "normalisation": normalisation, "groups": groups}
    settings = settings_of(num_layers=3, **changes)
    graph = load_dataset("csbm:num_nodes=60").graph
    model = AKGNN(4, 8, 2, num_layers=3, **changes)
    with torch.no_grad():
        for layer in model.layers:
            layer.phi.uniform_(-3, 10)
        shares = model.neighbour_share(graph).view(-1).tolist()
        learned = torch.cat([layer.scalar.view(-1) for layer in model.layers]).tolist()
    assert scalars_of(settings, (), shares) == pytest.approx(learned, rel=1e-4)
    assert symbol_of(settings) == "τ"


def test_lambda_is_taken_as_it_was_kept():
    assert scalars_of(settings_of(num_layers=2), (2.5, 2.0), (0.7, 0.8)) == [2.5, 2.0]


def test_old_runs_and_kernels_of_ones_own_leave_it_open(monkeypatch):
    assert scalars_of(settings_of(kernel="signed"), (), ()) == []

    class Mine(SignedKernel):
        def scalar_of_share(self, neighbours, own):
            return None

    monkeypatch.setitem(KERNELS, "mine", Mine())
    assert scalars_of(settings_of(kernel="mine", num_layers=1), (), (0.5,)) == []


def test_a_share_of_one_is_a_large_scalar():
    assert SignedKernel().scalar_of_share(1.0, 0.0) == pytest.approx(1e6)


def test_strands_go_through_all_layers():
    positions = positions_of(settings_of(num_layers=2, normalisation="directed"))
    assert by_strand(positions, [1, 2, 3, 4]) == {("in", 0): [1, 3], ("out", 0): [2, 4]}
