import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from akgnn.data.generated import BlockModelSettings, block_model
from akgnn.errors import SettingsError


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
