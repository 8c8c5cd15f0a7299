import sys

import pytest
import torch

from akgnn.csr import CSR
from akgnn.errors import MissingExtraError
from akgnn.models.pyg_layers import dense, global_noise, global_seed, pyg_layer
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


def test_features_are_written_out():
    x = CSR.from_arrays(torch.tensor([0, 1, 1]), torch.tensor([2]), None, (2, 3))
    assert torch.equal(dense(x), torch.tensor([[0.0, 0, 1], [0, 0, 0]]))
    assert dense(dense(x)).shape == (2, 3)
