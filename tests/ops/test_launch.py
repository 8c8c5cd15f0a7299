"""Single launches: on a GPU, or elsewhere in Triton's interpreter; test_fused.py has the layers."""

import pytest
import torch

pytest.importorskip("triton")

from akgnn.ops.dropout import dropout
from akgnn.ops.launch import Adjacency, Mask, Scalars, enter
from oracles import random_graph

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
RATE, KEYS = 0.4, torch.tensor([12345, -(2**62) - 3])


def mask(h):
    return Mask.of(KEYS, RATE, h.to(DEVICE), None)


@pytest.mark.parametrize("channels", [1, 5, 64, 130])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.bfloat16, 1e-2)])
def test_masks_are_those_of_the_cpu(channels, dtype, tolerance):
    h = torch.randn(2, 70, channels).to(dtype)
    found = enter(h.to(DEVICE), mask=mask(h)).cpu()
    expected = dropout(h.float(), RATE, KEYS)
    assert torch.equal(found == 0, expected == 0)
    torch.testing.assert_close(found.float(), expected, rtol=tolerance, atol=0)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("form", ["sym", "row"])
def test_a_signal_enters_with_its_scaling(form, backward):
    graph = random_graph(0)
    degree = graph.degree
    h = torch.randn(2, graph.num_nodes, 6)
    a, w = torch.rand(2, 3) + 0.1, torch.randn(2, 3)
    adjacency = Adjacency(graph.to(DEVICE).adjacency, degree.to(DEVICE), form)
    scalars = Scalars(a.to(DEVICE), w.to(DEVICE))
    found = enter(h.to(DEVICE), adjacency, scalars, backward=backward, mask=mask(h), factor=0.5)
    c = a[:, None] + w[:, None].abs() * degree[None, :, None]
    # Isolated nodes keep their signal.
    c = torch.where(degree[None, :, None] == 0, 1, c).repeat_interleave(2, -1)
    power = -0.5 if form == "sym" else -1.0 if backward else 0.0
    expected = 0.5 * dropout(h, RATE, KEYS) * c**power
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-5, atol=1e-6)
