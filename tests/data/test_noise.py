from dataclasses import replace

import pytest
import torch

from akgnn.csr import CSR
from akgnn.data.catalogue import base_name, graph_name, load_dataset, noise_settings
from akgnn.data.noise import NoiseSettings, with_noise
from akgnn.errors import DataError, SettingsError, UnknownNameError
from akgnn.graph import Graph


@pytest.fixture(scope="module")
def cora():
    return load_dataset("cora", features="raw")


def edges_of(graph):
    return set(zip(*graph.edge_index.tolist(), strict=True))


def test_random_edges_are_added_to_those_that_are_there(cora):
    noisy = with_noise(cora, NoiseSettings(added_edges=0.5))
    before, after = edges_of(cora.graph), edges_of(noisy.graph)
    assert before < after
    assert len(after) == len(before) * 3 // 2
    assert noisy.graph.is_symmetric
    assert not any(a == b for a, b in after)
    assert torch.equal(noisy.x.to_dense(), cora.x.to_dense())


def test_directed_edges_are_added_one_way():
    data = load_dataset("csbm:num_nodes=100,degree=4")
    one_way = data.graph.edge_index[:, data.graph.edge_index[0] < data.graph.edge_index[1]]
    data = replace(data, graph=Graph.from_edge_index(one_way, num_nodes=100))
    noisy = with_noise(data, NoiseSettings(added_edges=1))
    assert len(edges_of(noisy.graph)) == 2 * one_way.size(1)
    assert any(a > b for a, b in edges_of(noisy.graph))


@pytest.mark.parametrize("is_sparse", [True, False])
def test_features_become_0_and_no_other_value(cora, is_sparse):
    data = cora if is_sparse else replace(cora, x=cora.x.to_dense())
    noisy = with_noise(data, NoiseSettings(dropped_features=0.3))
    before, after = cora.x.to_dense(), noisy.x.to_dense() if is_sparse else noisy.x
    assert isinstance(noisy.x, CSR) == is_sparse
    assert torch.equal(after[after != 0], before[after != 0])
    assert float((after != 0).sum() / (before != 0).sum()) == pytest.approx(0.7, abs=0.01)
    assert edges_of(noisy.graph) == edges_of(cora.graph)


def test_all_features_may_be_dropped_and_values_keep_their_place():
    data = load_dataset("pubmed", features="raw")
    assert not with_noise(data, NoiseSettings(dropped_features=1)).x.num_entries
    kept = with_noise(data, NoiseSettings(dropped_features=0.9)).x.to_dense()
    assert torch.equal(kept[kept != 0], data.x.to_dense()[kept != 0])


def test_a_seed_draws_the_same_noise_and_another_seed_another(cora):
    first, again, other = (
        with_noise(cora, NoiseSettings(added_edges=0.1, dropped_features=0.1, seed=seed))
        for seed in (1, 1, 2)
    )
    assert edges_of(first.graph) == edges_of(again.graph) != edges_of(other.graph)
    assert torch.equal(first.x.to_dense(), again.x.to_dense())
    assert not torch.equal(first.x.to_dense(), other.x.to_dense())


def test_the_name_of_a_data_set_may_say_its_noise():
    name = "citeseer:added_edges=0.5,dropped_features=0.2,seed=3"
    noisy, plain = load_dataset(name), load_dataset("citeseer")
    assert noisy.source["noise"] == "50 % edges added, 20 % features dropped"
    assert noisy.graph.num_edges == 1.5 * plain.graph.num_edges
    assert noisy.split.name == plain.split.name
    # Rows are divided by their sum after features were dropped.
    totals = noisy.x.to_dense().sum(1)
    torch.testing.assert_close(totals[totals > 0], torch.ones(int((totals > 0).sum())))
    assert graph_name("citeseer:added_edges=0.5") == "CiteSeer, added_edges=0.5"
    assert base_name(name) == "citeseer"
    assert noise_settings("citeseer") is noise_settings("csbm:seed=1") is None


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("cora:added_edgs=1", UnknownNameError, "Did you mean 'added_edges'"),
        ("cora:added_edges", SettingsError, "name=value"),
        ("cora:dropped_features=1.5", SettingsError, "from 0 to 1"),
        ("cora:added_edges=1e6", DataError, "beyond half of the pairs that 2,708 nodes have"),
        ("corra:added_edges=1", UnknownNameError, "data set"),
    ],
)
def test_a_mistake_in_the_noise_is_named(name, error, says):
    with pytest.raises(error, match=says):
        load_dataset(name)


def test_weights_are_refused():
    data = load_dataset("csbm:num_nodes=100")
    graph = Graph.from_edge_index(
        data.graph.edge_index, num_nodes=100, edge_weight=torch.ones(data.graph.num_edges) * 2
    )
    with pytest.raises(DataError, match="without weights"):
        with_noise(replace(data, graph=graph), NoiseSettings(added_edges=1))
