import pytest
import torch
from torch_geometric.nn import JumpingKnowledge

from akgnn.models.jknet import JKNet
from oracles import random_graph, renormalised


@pytest.mark.parametrize(("readout", "mode"), [("concat", "cat"), ("max", "max")])
def test_equals_the_dense_formula_with_pygs_jumping_knowledge(readout, mode):
    graph = random_graph(0)
    model = JKNet(6, 5, 3, num_layers=3, readout=readout).double().eval()
    h = x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    kernel, outputs = renormalised(graph), []
    for layer in model.layers:
        h = torch.relu(kernel @ h @ layer.linear.weight + layer.bias)
        outputs.append(h)
    together = JumpingKnowledge(mode)(outputs)
    expected = together @ model.classifier.weight + model.classifier.bias
    torch.testing.assert_close(model(x, graph), expected)
