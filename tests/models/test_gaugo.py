import torch

from akgnn.models.gaugo import GAugO
from oracles import random_graph, renormalised


def test_it_predicts_as_its_gcn_does_on_the_graph_as_it_is():
    graph = random_graph(0)
    model = GAugO(6, 5, 3).double().eval()
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    first, second = model.classifier.layers
    kernel = renormalised(graph)
    h = torch.relu(kernel @ x @ first.linear.weight + first.bias)
    torch.testing.assert_close(model(x, graph), kernel @ h @ second.linear.weight + second.bias)


def test_the_encoder_equals_its_dense_formula():
    graph = random_graph(0)
    encoder = GAugO(6, 5, 3, edge_channels=4).double().encoder
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    kernel = renormalised(graph)
    h = kernel @ x @ encoder.first.linear.weight + encoder.first.bias
    z = torch.relu(kernel @ h @ encoder.second.linear.weight + encoder.second.bias)
    torch.testing.assert_close(encoder(x, graph), z)
