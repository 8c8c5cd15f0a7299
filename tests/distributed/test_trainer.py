"""Training in parts: against the whole graph, and bit for bit over processes."""

import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
import torch.multiprocessing as mp
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.distributed.folder import open_parts, part_folder
from akgnn.distributed.group import Group
from akgnn.distributed.trainer import OwnRows, fit_parts, own_rows
from akgnn.distributed.write import write_parts
from akgnn.errors import SettingsError
from akgnn.ops.dropout import Noise
from akgnn.ops.part_rows import PartRows
from akgnn.training.fit import fit
from akgnn.training.result import FitResult
from akgnn.training.settings import TrainSettings
from akgnn.training.strategies.consistency import Consistency, ConsistencySettings
from akgnn.training.strategies.supervised import Strategy, Supervised, loss_of
from gloo_processes import (
    NUM_PARTS,
    digest,
    digest_of,
    in_float64,
    model_for,
    parts_of,
    train_by_gloo,
)
from parts_data import KINDS, small_data, some_owner
from threads_group import on_threads

MODELS = {
    "paper": {},
    "signed": {"kernel": "signed", "readout": "mean", "classifier_layers": 2},
    "groups": {"groups": 4, "normalisation": "row"},
    "slices": {"channels_at_once": 4},
    "matrices": {"share_weights": False, "readout": "concat"},
    "deep, batch": {"order": "blocks", "norm": "batch"},
    "deep, layer": {"order": "blocks", "norm": "layer", "groups": 2},
    "propagation first": {"order": "propagate-first", "batch_norm": True, "node_dropout": 0.3},
}


def gradients(model: nn.Module, data: NodeData, rows: OwnRows | None) -> dict[str, Tensor]:
    model.train()
    with nullcontext() if rows is None else rows.active():
        loss = loss_of(model, data, data.graph, Noise(5, 2))
        loss.backward()
    found = {name: tensor.grad for name, tensor in model.named_parameters()}
    return {"loss": loss.detach()} | {n: grad for n, grad in found.items() if grad is not None}


def gap(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).abs().max() / expected.abs().max().clamp_min(1e-2))


def fits(kind: str, settings: dict[str, object]) -> dict[str, object]:
    """The settings in a form that takes the graph."""
    is_sym = settings.get("normalisation", "sym") == "sym"
    if not ("directed" in kind and is_sym):
        return settings
    return settings | {"normalisation": "row" if "channels_at_once" in settings else "directed"}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_the_whole_graph(kind: str, name: str):
    data = in_float64(small_data(kind))
    settings = fits(kind, MODELS[name])
    if settings.get("groups", 1) != 1 and settings.get("normalisation") == "directed":
        settings = settings | {"groups": 1}
    expected = gradients(model_for(data, **settings).double(), data, None)

    def work(group: Group) -> dict[str, Tensor]:
        rows = own_rows(parts_of(data), group)
        return gradients(model_for(data, **settings).double(), rows.data, rows)

    for found in (*on_threads(1, work), *on_threads(3, work)):
        assert found.keys() == expected.keys()
        assert max(gap(found[name], expected[name]) for name in expected) < 1e-13


@pytest.mark.parametrize("name", MODELS)
def test_the_number_of_processes_changes_no_bit(name: str):
    data = small_data("dense")
    strategy: Strategy = Supervised()
    if name == "propagation first":
        strategy = Consistency(ConsistencySettings(passes=2, confidence=1.2, warm_up=3))

    def work(group: Group) -> tuple[str, object]:
        model = model_for(data, **MODELS[name])
        settings = TrainSettings(epochs=6, patience=4, several_starts=name == "signed")
        rows = own_rows(parts_of(data), group)
        result = fit_parts(model, rows, settings, strategy=strategy)
        return digest(model), (result.scores, result.history)

    (alone,) = on_threads(1, work)
    for size in (2, 3, 5):
        assert on_threads(size, work) == [alone] * size


@pytest.mark.parametrize("name", MODELS)
def test_the_number_of_parts_at_once_changes_no_bit(name: str, monkeypatch: pytest.MonkeyPatch):
    # All signals to files, small as they are.
    monkeypatch.setattr("akgnn.distributed.signal_files._SMALLEST", 0)
    data = small_data("sparse" if name == "paper" else "dense")

    def trained(size: int, at_once: int | None) -> list[object]:
        def work(group: Group) -> tuple[str, object]:
            model = model_for(data, **MODELS[name])
            rows = own_rows(parts_of(data), group, at_once=at_once)
            assert rows.is_in_files == (at_once is not None and at_once < 7 // size)
            result = fit_parts(model, rows, TrainSettings(epochs=4))
            return digest(model), (result.scores, result.history)

        return on_threads(size, work)

    (expected,) = trained(1, None)
    # As a large graph would have it: a few channels at a time, also of the last ones.
    monkeypatch.setattr("akgnn.distributed.exchange._SMALL_GRAPH", 0)
    monkeypatch.setattr("akgnn.distributed.exchange._CHANNELS_AT_ONCE", 3)
    assert trained(1, 1) + trained(1, 3) + trained(1, NUM_PARTS) == [expected] * 3
    assert trained(3, 1) == [expected] * 3


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which file lies where")
def test_nothing_of_a_folder_is_copied_for_one_part_at_once(tmp_path: Path):
    data = small_data("weighted and directed", num_nodes=3000)
    write_parts(tmp_path / "parts", data, some_owner(3000, 4), cut="hash")
    rows = own_rows(open_parts(tmp_path / "parts"), Group(), at_once=1)
    x, graph = rows.data.x, rows.data.graph
    assert isinstance(x, PartRows)
    for side, prefix in ((graph, ""), (graph.transpose, "transpose_")):
        for part, (_, matrix) in enumerate(side.row_blocks()):
            place = tmp_path / "parts" / part_folder(part)
            assert file_of(matrix.pattern.col) == place / f"{prefix}col.npy"
            assert matrix.value is not None
            assert file_of(matrix.value) == place / f"{prefix}value.npy"
            assert file_of(x.parts[part]) == place / "x.npy"


def file_of(tensor: Tensor) -> Path | None:
    """The file that lies in memory where a tensor does."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        bounds, _, _, _, _, *file = line.split(maxsplit=5)
        low, high = (int(bound, 16) for bound in bounds.split("-"))
        if low <= tensor.data_ptr() < high:
            return Path(file[0]) if file else None
    return None


def test_training_in_parts_ends_where_the_whole_graph_does():
    data = in_float64(small_data("dense"))
    settings = TrainSettings(epochs=10, class_weight="balanced")
    model = model_for(data).double()
    whole = fit(model, data, settings)

    def work(group: Group) -> tuple[nn.Module, FitResult]:
        divided = model_for(data).double()
        return divided, fit_parts(divided, own_rows(parts_of(data), group), settings)

    for divided, result in on_threads(2, work):
        assert result.scores == pytest.approx(whole.scores, rel=1e-9)
        for name, tensor in model.state_dict().items():
            torch.testing.assert_close(divided.state_dict()[name], tensor, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_processes_that_talk_by_gloo_end_in_the_bits_of_one(tmp_path: Path, device: str):
    cases = [{"device": device, "kind": "sparse"}]
    if device == "cuda":
        # Threads cannot stand for processes there: one thread does the backward passes of all.
        cases += [{"device": device, "kind": "dense", **settings} for settings in MODELS.values()]
    expected = "\n".join(digest_of(Group(), **case) for case in cases)
    mp.spawn(train_by_gloo, (2, str(tmp_path), cases), nprocs=2)
    assert [tmp_path.joinpath(f"rank-{rank}").read_text() for rank in (0, 1)] == [expected] * 2


def test_more_processes_than_parts_are_refused():
    group = Group()
    group.size = NUM_PARTS + 1
    with pytest.raises(SettingsError, match="7 parts are too few for 8 processes"):
        own_rows(parts_of(small_data("dense")), group)


def test_a_model_that_sums_over_nodes_by_itself_is_refused():
    data = small_data("dense")
    with pytest.raises(SettingsError, match="HopAKGNN cannot be trained on parts"):
        fit_parts(model_for(data, order="hops"), own_rows(parts_of(data), Group()))


def test_an_epoch_scores_the_nodes_of_all_processes():
    data = in_float64(small_data("dense"))
    whole = fit(model_for(data).double(), data, TrainSettings(epochs=4)).history

    def work(group: Group) -> FitResult:
        rows = own_rows(parts_of(data), group)
        return fit_parts(model_for(data).double(), rows, TrainSettings(epochs=4))

    for result in on_threads(3, work):
        for name in ("train_loss", "val_loss", "train_accuracy", "val_accuracy"):
            assert result.history.column(name) == pytest.approx(whole.column(name), rel=1e-9)
