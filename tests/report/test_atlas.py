import numpy as np
import pytest
import torch

import akgnn
from akgnn.explain.nodes import neighbours_of
from akgnn.files import json_text
from akgnn.graph import Graph
from akgnn.layers.kernels import KERNELS, Kernel
from akgnn.report import atlas as atlas_module
from akgnn.report.atlas import atlas_of, sample_of
from akgnn.report.chain import chain_of, kind_of_kernel
from akgnn.report.html import MOST_BYTES
from akgnn.report.packing import deflated
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


def test_sample_has_whole_neighbourhoods(data):
    nodes, centres = sample_of(data.graph, [7, 3], 60)
    shown = set(nodes.tolist())
    assert {3, 7} <= shown
    assert len(shown) <= 60
    assert centres
    for centre in centres:
        assert {centre, *neighbours_of(data.graph, centre).tolist()} <= shown
    assert torch.equal(sample_of(data.graph, [7, 3], 60)[0], nodes)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run, its data and its class scores."""
    run = akgnn.train(
        "csbm:num_nodes=100,degree=6",
        settings={"epochs": 2},
        out=tmp_path_factory.mktemp("runs") / "run",
        device="cpu",
    )
    whole = run.data()
    return run, whole, predict_logits(run.model, whole)


def atlas_in(trained, room):
    run, data, logits = trained
    return atlas_of(run, run.model, data, logits, (), room)


def test_sample_keeps_the_classes_of_the_whole_graph(trained, monkeypatch):
    monkeypatch.setattr(atlas_module, "MOST_NODES", 50)
    monkeypatch.setattr(atlas_module, "_SIZES", (60,))
    run, whole, _ = trained
    atlas = atlas_in(trained, MOST_BYTES)
    nodes, _ = sample_of(whole.graph, [], 60)
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


def weight(atlas):
    return len(deflated(atlas.packed)) + len(deflated(json_text(atlas.drawn).encode()))


def test_a_map_holds_what_there_is_room_for_and_says_so(trained, monkeypatch):
    monkeypatch.setattr(atlas_module, "_SIZES", (60, 20))
    everything = atlas_in(trained, MOST_BYTES)
    assert not everything.why_fixed
    fixed = atlas_in(trained, weight(everything) - 500)
    assert fixed.num_nodes == 100
    assert "channels a node: with those of 100 nodes the page would weigh more" in fixed.why_fixed
    sample = atlas_in(trained, weight(fixed) - 100)
    assert 20 < sample.num_nodes <= 60
    assert sample.num_centres > 0
    smallest = atlas_in(trained, 0)
    assert smallest.num_nodes <= 20
    weights = [weight(atlas) for atlas in (everything, fixed, sample, smallest)]
    assert weights == sorted(weights, reverse=True)


def test_edges_are_gaps_between_the_nodes_of_the_map():
    graph = Graph.from_edge_index(
        torch.tensor([[0, 1, 1, 2, 2, 3, 1, 3], [1, 0, 2, 1, 3, 2, 3, 1]])
    )
    found = atlas_module._edges(graph, torch.tensor([1, 2, 3]))
    # Rows hold nobody, then the first, then the first and the second.
    assert found["count"].tolist() == [0, 1, 2]
    assert found["gap"].tolist() == [0, 0, 1]
