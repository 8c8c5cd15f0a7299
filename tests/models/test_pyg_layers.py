import sys
from copy import deepcopy

import pytest
import torch

from akgnn.csr import CSR, Pattern
from akgnn.errors import MissingExtraError
from akgnn.models.pyg_layers import (
    global_noise,
    global_seed,
    mapped,
    pyg_layer,
    take_out,
)
from akgnn.ops.dropout import Noise


def test_the_generator_decides_the_initial_weights():
    def weight(seed):
        generator = torch.Generator().manual_seed(seed)
        return pyg_layer("SAGEConv", 3, 4, generator=generator).lin_l.weight

    assert torch.equal(weight(1), weight(1))
    assert not torch.equal(weight(1), weight(2))


def test_the_global_generator_is_left_as_it_was():
    before = torch.get_rng_state()
    pyg_layer("SAGEConv", 3, 4, generator=torch.Generator())
    with global_seed(3):
        torch.rand(5)
    with global_noise(Noise(0), 1):
        torch.rand(5)
    assert torch.equal(torch.get_rng_state(), before)


def test_noise_decides_what_is_drawn_inside():
    def draw(noise, place):
        with global_noise(noise, place):
            return torch.rand(4)

    assert torch.equal(draw(Noise(1, 2), 3), draw(Noise(1, 2), 3))
    assert not torch.equal(draw(Noise(1, 2), 3), draw(Noise(1, 3), 3))
    assert not torch.equal(draw(Noise(1, 2), 3), draw(Noise(1, 2), 4))


def test_without_pyg_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    with pytest.raises(MissingExtraError, match=r"GATConv needs .*akgnn\[pyg\]"):
        pyg_layer("GATConv", 3, 4, generator=None)


@pytest.mark.parametrize(("name", "options"), [("GATConv", {"heads": 2}), ("SAGEConv", {})])
def test_a_map_taken_out_leaves_the_layers_result(name, options):
    x = torch.tensor([[0.0, 0, 1], [2, 0, 0], [0, 3, 4], [0, 0, 0]])
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    layer = pyg_layer(name, 3, 4, generator=torch.Generator().manual_seed(0), **options).eval()
    expected = layer(x, edge_index)
    pattern = Pattern(torch.tensor([0, 1, 2, 4, 4]), torch.tensor([2, 0, 1, 2]), (4, 3))
    sparse = CSR(pattern, torch.tensor([1.0, 2, 3, 4]))
    for features in (x, sparse):
        whole = deepcopy(layer)
        if name == "GATConv":
            out = whole(mapped(features, take_out(whole, "lin")), edge_index)
        else:
            near, own = take_out(whole, "lin_l"), take_out(whole, "lin_r")
            out = whole((mapped(features, near), mapped(features, own)), edge_index) + near.bias
        torch.testing.assert_close(out, expected)
