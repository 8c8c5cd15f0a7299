"""Slices of the channels over processes: against the whole graph, and put together again."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.distributed.channels import ChannelSlices, check_slices
from akgnn.distributed.group import Group
from akgnn.distributed.mesh import Mesh, MeshShape
from akgnn.distributed.trainer import OwnRows, fit_parts, own_rows
from akgnn.errors import SettingsError
from akgnn.models.adaptive_network import AKGNNSettings
from akgnn.models.akgnn_deep import DeepAKGNN
from akgnn.ops.dropout import Noise
from akgnn.ops.rows import Division, divided
from akgnn.training.callbacks import Callback, Epoch
from akgnn.training.fit import fit
from akgnn.training.result import FitResult
from akgnn.training.settings import TrainSettings
from akgnn.training.state import Snapshot
from akgnn.training.strategies.consistency import Consistency, ConsistencySettings
from akgnn.training.strategies.supervised import Strategy, Supervised, loss_of
from gloo_processes import digest, in_float64, model_for, parts_of
from parts_data import small_data
from threads_group import on_threads

MESHES = ("2x1", "1x2", "1x4", "2x2", "3x2")
# The kind of graph, and settings of the model.
CASES = {
    "paper": ("sparse", {}),
    "signed": ("dense", {"kernel": "signed", "readout": "mean", "classifier_layers": 2}),
    "groups": ("weighted", {"groups": 4, "readout": "last"}),
    "directed": ("weighted and directed", {"normalisation": "row", "kernel": "smooth"}),
    "slices in time": ("dense", {"channels_at_once": 4}),
    "recomputed": ("dense", {"recompute": True, "num_layers": 4}),
    "without a bias": ("sparse of ones", {"transform_bias": False, "node_dropout": 0.3}),
}


class SumsOfSizes:
    """Every node is a part, and what is added up is made positive: sums of absolute terms."""

    def __init__(self, number: int) -> None:
        self.blocks = [slice(row, row + 1) for row in range(number)]

    def total(self, sums: Tensor) -> Tensor:
        return sums.abs().sum(0)

    def selected(self, rows: Tensor) -> Division:
        return SumsOfSizes(len(rows))

    def gathered(self, rows: Tensor) -> Tensor:
        return rows


def model_of(data: NodeData, settings: dict[str, object]) -> nn.Module:
    return model_for(data, **{"hidden_channels": 16, **settings})


def gradients(data: NodeData, model: nn.Module) -> dict[str, Tensor]:
    loss = loss_of(model.train(), data, data.graph, Noise(5, 2))
    loss.backward()
    return {"loss": loss.detach()} | {n: tensor.grad for n, tensor in model.named_parameters()}


def on_mesh(shape: str, work) -> list:
    mesh = MeshShape.parse(shape)
    return on_threads(mesh.size, lambda group: work(Mesh.of(group, mesh)))


def rows_of(data: NodeData, mesh: Mesh) -> OwnRows:
    return own_rows(parts_of(data), mesh.nodes, channels=mesh.channels)


@pytest.mark.parametrize(
    ("dtype", "bar"), [(torch.float64, 1e-13), (torch.float32, 1e-6)], ids=["float64", "float32"]
)
@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_the_whole_graph(case: str, dtype: torch.dtype, bar: float):
    kind, settings = CASES[case]
    data = small_data(kind)
    data = in_float64(data) if dtype == torch.float64 else data
    expected = gradients(data, model_of(data, settings).to(dtype))
    number = data.graph.num_nodes
    with divided(torch.arange(number), SumsOfSizes(number)):
        sizes = gradients(data, model_of(data, settings).to(dtype))

    def work(mesh: Mesh) -> dict[str, Tensor]:
        rows, model = rows_of(data, mesh), model_of(data, settings).to(dtype)
        with rows.active():
            found = gradients(rows.data, model)
        if rows.slices is None:
            return found
        dimensions, unit = model.channel_dimensions, model.settings.channel_unit
        return {
            name: rows.slices.whole(grad, dimensions[name], unit) if name in dimensions else grad
            for name, grad in found.items()
        }

    for shape in MESHES:
        for found in on_mesh(shape, work):
            assert found.keys() == expected.keys()
            for name, size in sizes.items():
                gap = (found[name] - expected[name]).abs().max() / size.max()
                assert gap <= bar, (shape, name)


@pytest.mark.parametrize("case", ["paper", "groups", "slices in time"])
def test_the_number_of_processes_along_the_nodes_changes_no_bit(case: str):
    kind, settings = CASES[case]
    data = small_data(kind)

    def work(mesh: Mesh) -> tuple[str, object]:
        model = model_of(data, settings)
        result = fit_parts(model, rows_of(data, mesh), TrainSettings(epochs=6, patience=4))
        return digest(model), (result.scores, result.history)

    alone = on_mesh("1x2", work)
    assert alone[0] == alone[1]
    for shape in ("2x2", "3x2"):
        assert on_mesh(shape, work) == [alone[0]] * MeshShape.parse(shape).size


@pytest.mark.parametrize(
    "strategy",
    [Supervised(), Consistency(ConsistencySettings(passes=2, phi_sees_masks=False))],
    ids=["supervised", "consistency"],
)
def test_training_by_slices_ends_where_the_whole_graph_does(strategy: Strategy):
    data = in_float64(small_data("dense"))
    settings = TrainSettings(epochs=10, class_weight="balanced")
    model = model_of(data, {}).double()
    whole = fit(model, data, settings, strategy=strategy)

    def work(mesh: Mesh) -> tuple[nn.Module, FitResult]:
        own = model_of(data, {}).double()
        return own, fit_parts(own, rows_of(data, mesh), settings, strategy=strategy)

    for own, result in (*on_mesh("1x4", work), *on_mesh("2x2", work)):
        assert result.scores == pytest.approx(whole.scores, rel=1e-9)
        for name, tensor in model.state_dict().items():
            torch.testing.assert_close(own.state_dict()[name], tensor, rtol=1e-9, atol=1e-12)


class States(Callback):
    """Takes the states after five epochs and after six."""

    def __init__(self) -> None:
        self.states: list[Snapshot] = []

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        if len(epochs[0].history) in (5, 6):
            self.states.append(epochs[0].snapshot())


def test_a_state_is_whole_and_goes_on_with_any_mesh():
    data = in_float64(small_data("sparse"))
    settings = TrainSettings(epochs=12)

    def work(mesh: Mesh, resume: Snapshot | None = None) -> tuple[dict[str, Tensor], Snapshot]:
        model, seen = model_of(data, {}).double(), States()
        if resume is not None and mesh.channels.rank:
            # Files give tensors back in an order of their own.
            resume = replace(resume, best_weights=dict(reversed(resume.best_weights.items())))
        fit_parts(model, rows_of(data, mesh), settings, resume=resume, callbacks=[seen])
        return model.state_dict(), seen.states[0]

    ((expected, alone),) = on_mesh("1x1", work)
    states = [state for _, state in on_mesh("2x2", work)]
    for state in states:
        for kind in ("weights", "best_weights", "optimizer"):
            torch.testing.assert_close(getattr(state, kind), getattr(alone, kind))
    for shape in ("2x1", "1x4", "3x2"):
        for found, _ in on_mesh(shape, lambda mesh: work(mesh, states[0])):
            torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def slices_of(rank: int, size: int) -> ChannelSlices:
    group = Group()
    group.rank, group.size = rank, size
    return ChannelSlices(group)


def test_slices_are_cut_between_units():
    assert [slices_of(rank, 3).own(64, 4) for rank in range(3)] == [
        slice(0, 20),
        slice(20, 40),
        slice(40, 64),
    ]
    assert [slices_of(rank, 2).own(10, 4) for rank in range(2)] == [slice(0, 4), slice(4, 10)]


@pytest.mark.parametrize(
    ("changes", "number", "message"),
    [
        ({"order": "blocks"}, 2, "DeepAKGNN divides along the nodes alone"),
        ({"share_weights": False}, 2, "needs order='transform-first', share_weights=True"),
        ({"readout": "max"}, 2, "readout sum, mean or last"),
        ({"hidden_channels": 16}, 5, "hidden_channels=16 cannot be cut into 5 slices, but into 4"),
        ({"groups": 2}, 3, "into 2 at most: 32 channels stay together"),
    ],
)
def test_models_that_cannot_be_cut_are_refused(changes, number, message):
    settings = AKGNNSettings().updated(changes)
    with pytest.raises(SettingsError, match=message):
        check_slices(DeepAKGNN, settings, number)
    check_slices(DeepAKGNN, settings, 1)


def test_a_model_that_mixes_channels_is_refused_where_it_would_be_trained():
    data = small_data("dense")

    def work(mesh: Mesh) -> bool:
        with pytest.raises(SettingsError, match="divides along the nodes alone"):
            fit_parts(model_of(data, {"order": "propagate-first"}), rows_of(data, mesh))
        return True

    assert on_mesh("1x2", work) == [True] * 2
