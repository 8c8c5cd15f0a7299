import errno
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split
from akgnn.errors import ExportError, MissingExtraError, RunFolderError
from akgnn.export.export import export_model
from akgnn.graph import Graph
from akgnn.models.registry import MODELS, build_model, find_model

FEATURES, CLASSES = 6, 3
VARIANTS = [
    {"kernel": "smooth", "readout": "mean"},
    {"kernel": "signed", "kernel_start": -0.5, "readout": "last", "recompute": True},
    {"groups": 4, "readout": "concat", "normalisation": "row"},
    {"share_weights": False, "readout": "max", "activation": "leaky_relu"},
    {"kernel": "signed", "normalisation": "directed", "groups": 2, "classifier_layers": 2},
    {"order": "propagate-first", "batch_norm": True, "readout": "mean", "node_dropout": 0.5},
    {"order": "propagate-first", "readout": "concat", "transform_bias": False},
    {"order": "blocks", "norm": "batch", "groups": 4, "input_transform": False},
    {"order": "blocks", "norm": "layer", "kernel": "signed", "residual": False},
]
# Names of one class, such as gcn and dropedge, differ in their training alone.
KINDS = set({entry.model: name for name, entry in MODELS.items()}.values())


def make_data(*, weighted=False, directed=False):
    """Thirty nodes, two of them isolated."""
    generator = torch.Generator().manual_seed(3)
    edges = torch.randint(28, (2, 60), generator=generator)
    weight = torch.rand(60, generator=generator) if weighted else None
    graph = Graph.from_edge_index(edges, weight, num_nodes=30)
    y = torch.arange(30) % CLASSES
    split = Split("own", torch.arange(10), torch.arange(10, 20), torch.arange(20, 30))
    x = torch.rand(30, FEATURES, generator=generator)
    graph = graph if directed else graph.symmetrised()
    return NodeData("own", x, y, graph, split, ("a", "b", "c"))


def make_model(name="akgnn", **changes):
    """A model whose weights have left their start, of few layers, since each is traced anew."""
    kind = find_model(name).settings
    most = {"num_layers": 3} if getattr(kind(), "num_layers", 0) > 3 else {}
    settings = kind.from_mapping({**most, **changes})
    model = build_model(name, settings, FEATURES, CLASSES).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return model


@pytest.mark.parametrize("form", ["graph", "dynamic"])
@pytest.mark.parametrize("name", ["gat", "gcn", "graphsage"])
def test_blocks_can_be_exported(name, form, tmp_path):
    model = make_model(name, form="blocks", norm="batch")
    assert export_model(model, make_data(), tmp_path / "model.pt2", form).difference < 1e-4


@pytest.mark.parametrize("form", ["graph", "dynamic"])
@pytest.mark.parametrize("name", sorted(KINDS - {"chebynet"}))
def test_every_model_can_be_exported(name, form, tmp_path):
    done = export_model(make_model(name), make_data(), tmp_path / "model.pt2", form)
    assert done.inputs == (("x",) if form == "graph" else ("x", "edge_index"))
    assert done.graphs == (1 if form == "graph" else 3)
    assert 0 <= done.difference < 1e-5


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_so_can_all_kernels_readouts_orders_and_normalisations(changes, tmp_path):
    data = make_data(weighted=True, directed=changes.get("normalisation", "sym") != "sym")
    done = export_model(make_model(**changes), data, tmp_path / "model.pt2", "dynamic")
    assert done.inputs == ("x", "edge_index", "edge_weight")
    assert done.difference < 1e-5


def test_a_program_for_any_graph_runs_without_our_code_and_leaves_out_self_loops(tmp_path):
    model, file = make_model(kernel="signed", kernel_start=0.7), tmp_path / "model.pt2"
    export_model(model, make_data(), file, "dynamic")
    program = torch.export.load(file).module()
    edges = torch.tensor([[0, 1, 1, 2, 3, 3], [1, 0, 2, 1, 3, 3]])
    x = torch.rand(5, FEATURES)
    wanted = model(x, Graph.from_edge_index(edges, num_nodes=5))
    assert torch.allclose(program(x, edges), wanted, atol=1e-6)
    # The smallest graph there is.
    lone = torch.empty(2, 0, dtype=torch.int64)
    wanted = model(x[:1], Graph.from_edge_index(lone, num_nodes=1))
    assert torch.allclose(program(x[:1], lone), wanted, atol=1e-6)


def test_a_program_for_one_graph_takes_other_features(tmp_path):
    model, data, file = make_model(), make_data(weighted=True), tmp_path / "model.pt2"
    export_model(model, data, file)
    x = torch.rand(30, FEATURES)
    found = torch.export.load(file).module()(x)
    assert torch.allclose(found, model(x, data.graph), atol=1e-5)
    assert not torch.allclose(found, model(data.x, data.graph), atol=1e-2)


@pytest.mark.parametrize("weighted", [False, True])
def test_an_onnx_file_answers_on_any_graph(weighted, tmp_path):
    import onnx

    file = tmp_path / "model.onnx"
    done = export_model(make_model(kernel="signed"), make_data(weighted=weighted), file, "onnx")
    assert (done.graphs, len(done.inputs)) == (3, 3 if weighted else 2)
    assert done.difference < 1e-5
    graph = onnx.load(file).graph
    sizes = [size.dim_param for size in graph.output[0].type.tensor_type.shape.dim]
    assert sizes == ["nodes", ""]


@pytest.mark.parametrize("name", ["gat", "pgso"])
def test_other_models_as_onnx(name, tmp_path):
    import onnx

    assert export_model(make_model(name), make_data(), tmp_path / "m.onnx", "onnx").graphs == 3
    # ONNX Runtime adds up a ScatterND from several threads, and loses some of the numbers.
    assert "ScatterND" not in {node.op_type for node in onnx.load(tmp_path / "m.onnx").graph.node}


def test_chebynet_can_be_exported_for_its_own_graph_alone(tmp_path):
    model, data = make_model("chebynet"), make_data()
    assert export_model(model, data, tmp_path / "model.pt2").difference < 1e-5
    with pytest.raises(ExportError, match=r"ChebyNet cannot be exported: .* eigenvalue"):
        export_model(model, data, tmp_path / "other.pt2", "dynamic")
    assert not (tmp_path / "other.pt2").exists()


class AllPairs(nn.Module):
    """Right answers by way of a matrix of nodes by nodes."""

    def forward(self, x, graph):
        return x @ x.T @ x[:, :CLASSES]


class Untraceable(nn.Module):
    def forward(self, x, graph):
        return x[:, :CLASSES] if float(x.sum()) > 0 else -x[:, :CLASSES]


class OtherAnswers(nn.Module):
    def forward(self, x, graph):
        return x[:, :CLASSES] + torch.compiler.is_exporting()


class OtherShape(nn.Module):
    def forward(self, x, graph):
        return x[:, : 2 if torch.compiler.is_exporting() else CLASSES]


@pytest.mark.parametrize(
    ("model", "form", "message"),
    [
        (AllPairs(), "onnx", r"AllPairs cannot be exported: .* from \[43, 43\] to \[86, 86\]"),
        (Untraceable(), "graph", r"Untraceable cannot be exported: torch\.export cannot follow it"),
        (OtherAnswers(), "dynamic", "OtherAnswers cannot be exported: .* they differ by 1 on a"),
        (OtherShape(), "onnx", r"OtherShape cannot be exported: .* \[30, 2\] numbers instead of"),
    ],
)
def test_what_cannot_be_exported_is_refused_and_leaves_the_old_file(model, form, message, tmp_path):
    file = tmp_path / "model"
    file.write_text("old")
    with pytest.raises(ExportError, match=message):
        export_model(model, make_data(), file, form)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(RunFolderError, match=r"Cannot write .*nowhere.*: No such file"):
        export_model(make_model("mlp"), make_data(), tmp_path / "nowhere" / "model.pt2")


def test_the_extra_is_named_where_a_package_is_missing(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"An ONNX file needs .*akgnn\[onnx\]"):
        export_model(make_model("mlp"), make_data(), tmp_path / "model.onnx", "onnx")


@pytest.mark.skipif(sys.platform == "win32", reason="limits of Unix")
def test_a_full_disk_is_told_and_the_interpreter_lives_on(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    model = build_model("gcn", find_model("gcn").settings(), FEATURES, CLASSES)
    with pytest.raises(RunFolderError, match=r"Cannot write .*m\.pt2: No space left on device"):
        export_model(model, make_data(), tmp_path / "m.pt2")
    assert list(tmp_path.iterdir()) == []
