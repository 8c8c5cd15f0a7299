import numpy as np
import pytest
import torch

import akgnn
from akgnn.explain.nodes import neighbours_of
from akgnn.graph import Graph
from akgnn.layers.kernels import KERNELS, Kernel
from akgnn.report import atlas as atlas_module
from akgnn.report.atlas import atlas_of, sample_of
from akgnn.report.chain import chain_of, kind_of_kernel
from akgnn.training.fit import predict_logits
from report_data import read_arrays


@pytest.fixture(scope="module")
def data():
    return akgnn.load_dataset("csbm:num_nodes=100,degree=6")


def model(data, **settings):
    torch.manual_seed(0)
    return akgnn.AKGNN(data.num_features, 8, data.num_classes, num_layers=2, **settings).eval()


def test_one_layer_classifier_is_folded_into_the_signal(data):
    chain = chain_of(model(data), data)
    assert chain.signal.shape == (100, data.num_classes)
    assert [layer.weight for layer in chain.head] == [None]


def test_groups_keep_their_channels(data):
    chain = chain_of(model(data, groups=2), data)
    assert chain.signal.shape == (100, 8)
    assert [len(layer) for layer in chain.scalars] == [2, 2]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"share_weights": False}, "its own matrix"),
        ({"normalisation": "directed"}, "in- and out-neighbours"),
    ],
)
def test_models_that_are_no_chain_say_why(data, settings, why):
    assert why in chain_of(model(data, **settings), data)


def test_models_without_scalars_say_so(data):
    assert "no kernels" in chain_of(torch.nn.Linear(1, 1), data)


def test_labels_among_the_features_allow_no_sliders(data):
    labelled = data.with_label_inputs()
    assert "labels of training nodes" in chain_of(model(labelled), labelled)


class OddKernel(Kernel):
    """Its weights follow the mean degree as no other's."""

    symbol, initial, search_space = "κ", 1.0, (0.1, 3.0)

    def phi_of(self, scalar):
        return scalar

    def scalar(self, phi):
        return phi

    def gcn(self, mean_degree):
        return 1.0

    def scalar_of_ratio(self, ratio, mean_degree):
        return ratio

    def weights(self, phi, mean_degree):
        return 1.0, phi / mean_degree**2


def test_kernels_are_told_by_how_they_follow_the_mean_degree():
    phi = torch.tensor([0.5, 2.0])
    assert kind_of_kernel(KERNELS["paper"], phi, 4.0) == ("lambda", False)
    assert kind_of_kernel(KERNELS["signed"], phi, 4.0) == ("tau", True)
    assert kind_of_kernel(OddKernel(), phi, 4.0) == (None, False)


def test_large_graph_has_a_sample_with_whole_neighbourhoods(data, monkeypatch):
    monkeypatch.setattr(atlas_module, "MOST_NODES", 50)
    monkeypatch.setattr(atlas_module, "_SAMPLE", 60)
    nodes, centres = sample_of(data.graph, [7, 3])
    shown = set(nodes.tolist())
    assert {3, 7} <= shown
    assert len(shown) <= 60
    assert centres
    for centre in centres:
        assert {centre, *neighbours_of(data.graph, centre).tolist()} <= shown
    assert torch.equal(sample_of(data.graph, [7, 3])[0], nodes)


def test_sample_keeps_the_classes_of_the_whole_graph(data, tmp_path, monkeypatch):
    run = akgnn.train(
        "csbm:num_nodes=100,degree=6", settings={"epochs": 2}, out=tmp_path / "run", device="cpu"
    )
    monkeypatch.setattr(atlas_module, "MOST_NODES", 50)
    monkeypatch.setattr(atlas_module, "_SAMPLE", 60)
    whole = run.data()
    logits = predict_logits(run.model, whole)
    atlas = atlas_of(run, run.model, whole, logits, ())
    nodes, _ = sample_of(whole.graph, [])
    arrays = read_arrays(atlas.drawn["arrays"], atlas.packed)
    predicted = run.predict(device="cpu").probability[nodes]
    assert atlas.total == 100
    assert atlas.why_fixed
    assert arrays["answer"].reshape(-1, 2)[:, 0].tolist() == predicted.argmax(1).tolist()
    assert (
        np.abs(arrays["sure"].reshape(-1, 2)[:, 0] / 65535 - predicted.max(1).values.numpy()).max()
        < 1e-4
    )
    around = arrays["around"].reshape(len(nodes), -1).sum(1).tolist()
    assert around == [len(neighbours_of(whole.graph, node)) for node in nodes.tolist()]


def test_graph_of_the_sample_has_the_edges_between_its_nodes():
    graph = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]))
    found = atlas_module._edges(graph, torch.tensor([1, 2, 3]))
    assert found["count"].tolist() == [0, 1, 1]
    assert found["col"].tolist() == [0, 1]
