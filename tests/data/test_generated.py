import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from akgnn.data import generated
from akgnn.data.catalogue import load_dataset
from akgnn.data.generated import BlockModelSettings, LargeGraphSettings, block_model, large_graph
from akgnn.errors import OutOfMemoryError, SettingsError


@given(
    st.floats(0, 1), st.floats(1, 12), st.integers(2, 5), st.integers(200, 300), st.integers(0, 9)
)
def test_homophily_and_degree_are_what_was_asked(homophily, degree, classes, nodes, seed):
    settings = BlockModelSettings(
        num_nodes=nodes, num_classes=classes, homophily=homophily, degree=degree, seed=seed
    )
    data = block_model(settings)
    assert data.graph.is_symmetric
    assert data.graph.num_edges == 2 * round(nodes * degree / 2)
    assert data.edge_homophily == pytest.approx(homophily, abs=1 / data.graph.num_edges + 1e-6)


def test_the_seed_decides():
    one, same, other = (block_model(BlockModelSettings(seed=seed)) for seed in (1, 1, 2))
    assert torch.equal(one.x, same.x)
    assert torch.equal(one.graph.edge_index, same.graph.edge_index)
    assert not torch.equal(one.x, other.x)


def test_features_carry_the_signal():
    data = block_model(BlockModelSettings(signal=20.0))
    means = torch.stack([data.x[data.y == label].mean(0) for label in range(4)])
    nearest = torch.cdist(data.x, means).argmin(1)
    assert float((nearest == data.y).float().mean()) > 0.99


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"homophily": 1.5}, "homophily must be between 0 and 1"),
        ({"homophily": -0.5}, "homophily must be from 0"),
        ({"num_classes": 1}, "num_classes must be at least 2"),
        ({"num_nodes": 39}, "num_nodes must be at least 10 for each class"),
        ({"num_nodes": 40, "degree": 30.0}, "more than half of the edges"),
        ({"degree": 0.0}, "degree must be above 0"),
    ],
)
def test_impossible_graphs_are_refused(options, message):
    with pytest.raises(SettingsError, match=message):
        block_model(BlockModelSettings(**options))


SMALL = {"num_nodes": 4000, "num_classes": 4, "degree": 12.0, "num_features": 10}


def settings(**changes) -> LargeGraphSettings:
    return LargeGraphSettings(**{**SMALL, **changes})


@given(st.floats(0.5, 30), st.integers(2, 5), st.integers(0, 2**63 - 1))
def test_degrees_are_binomial_around_what_was_asked(degree, classes, seed):
    chosen = settings(num_nodes=2000 * classes, num_classes=classes, degree=degree, seed=seed)
    graph = large_graph(chosen).graph
    assert graph.is_symmetric
    probability = degree / chosen.num_mirrors
    spread = chosen.num_mirrors * probability * (1 - probability)
    # Both ends of an edge see the same draw, so the sum spreads twice as much; five deviations.
    error = 5 * np.sqrt(2 * spread / graph.num_nodes)
    assert graph.num_edges / graph.num_nodes == pytest.approx(degree, abs=error)
    assert float(graph.degree.var()) == pytest.approx(spread, rel=0.2, abs=0.05)


@pytest.mark.parametrize("homophily", [0.25, 0.5, 0.8, 1.0])
def test_homophily_is_about_what_was_asked(homophily):
    data = large_graph(settings(homophily=homophily))
    assert data.edge_homophily == pytest.approx(homophily, abs=0.08)


def test_neighbours_lie_all_over_the_graph():
    source, target = large_graph(settings()).graph.edge_index
    apart = np.bincount((source - target).abs().numpy() * 10 // 4000, minlength=10) / len(source)
    # Of two numbers drawn evenly, the share of distances in each tenth.
    assert np.allclose(apart, (19 - 2 * np.arange(10)) / 100, atol=0.01)


def test_classes_have_one_size_and_features_their_means_and_noise():
    data = large_graph(settings(signal=3.0))
    assert torch.bincount(data.y).tolist() == [1000] * 4
    means = torch.stack([data.x[data.y == label].mean(0) for label in range(4)])
    noise = data.x - means[data.y]
    torch.testing.assert_close(noise.std(0), torch.ones(10), rtol=0.05, atol=0)
    correlation = torch.corrcoef(noise.T) - torch.eye(10)
    assert float(correlation.abs().max()) < 0.1
    assert float(means.norm(dim=1).mean()) == pytest.approx(3 / np.sqrt(2), rel=0.05)


def test_the_seed_decides_a_large_graph():
    one, same, other = (large_graph(settings(seed=seed)) for seed in (1, 1, 2))
    assert torch.equal(one.x, same.x)
    assert torch.equal(one.graph.edge_index, same.graph.edge_index)
    assert not torch.equal(one.y, other.y)
    assert not torch.equal(one.x, other.x)


def test_blocks_do_not_show(monkeypatch):
    whole = large_graph(settings())
    monkeypatch.setattr(generated, "_AT_ONCE", 1000)
    parts = large_graph(settings())
    assert torch.equal(whole.graph.edge_index, parts.graph.edge_index)
    assert torch.equal(whole.x, parts.x)


def test_features_come_in_the_type_asked_for():
    exact = large_graph(settings()).x
    short = large_graph(settings(), dtype=torch.bfloat16).x
    assert short.dtype == torch.bfloat16
    assert torch.equal(short, exact.bfloat16())


@pytest.mark.gpu
def test_the_graph_is_the_same_on_a_gpu():
    here, there = large_graph(settings()), large_graph(settings(), device="cuda")
    assert there.graph.device.type == there.x.device.type == "cuda"
    assert torch.equal(here.graph.edge_index, there.graph.edge_index.cpu())
    torch.testing.assert_close(here.x, there.x.cpu())
    assert torch.equal(here.split.train, there.split.train.cpu())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_nodes": 4001}, "multiple of 2 × num_classes = 8, got 4001; take 4000"),
        ({"num_classes": 1}, "num_classes must be at least 2"),
        ({"homophily": 0.2}, r"at least 1 / num_classes = 0\.25"),
        ({"degree": 400.0}, "degree 400 is too high for classes of 1000 nodes"),
    ],
)
def test_impossible_large_graphs_are_refused(changes, message):
    with pytest.raises(SettingsError, match=message):
        settings(**changes)


@pytest.mark.parametrize("name", ["csbm:num_nodes=1e8,num_features=1e5", "large:num_nodes=1.6e9"])
def test_a_graph_beyond_memory_is_refused_before_it_is_made(name, monkeypatch):
    monkeypatch.setattr("akgnn.data.generated.free_bytes", lambda _: 2**33)
    with pytest.raises(OutOfMemoryError, match=r"needs at least .* but cpu has 8.0 GiB free"):
        load_dataset(name)


def test_a_large_graph_in_files_is_the_one_in_memory(tmp_path):
    settings = LargeGraphSettings(num_nodes=4000, num_classes=4, degree=12.0, num_features=10)
    expected, data = large_graph(settings), large_graph(settings, folder=tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["col", "x"]
    assert torch.equal(data.x, expected.x)
    assert torch.equal(data.graph.adjacency.pattern.col, expected.graph.adjacency.pattern.col)
    assert torch.equal(data.graph.adjacency.pattern.rowptr, expected.graph.adjacency.pattern.rowptr)
    assert torch.equal(data.y, expected.y)
    assert data.split.label == expected.split.label
    assert data.source == expected.source
