import torch

from akgnn.models.gaugo import GAugO
from akgnn.ops.dropout import Noise
from akgnn.training.optimizer import make_optimizer
from akgnn.training.settings import TrainSettings
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


def test_the_public_code_drops_no_features():
    graph = random_graph(0)
    model = GAugO(6, 5, 3, form="public-code", dropout=0.9)
    assert [drop.rate for drop in model.classifier.drops] == [0.0, 0.9]
    assert [drop.rate for drop in GAugO(6, 5, 3, dropout=0.9).classifier.drops] == [0.9, 0.9]
    x = torch.randn(graph.num_nodes, 6)
    assert not torch.equal(model.train()(x, graph, Noise(0)), model.eval()(x, graph))


def test_the_public_code_decays_the_whole_classifier_and_no_edge_predictor():
    settings = TrainSettings(decay_first_layer_only=True, decay_biases=True)
    for form, expected in (("gcn", 2), ("public-code", 4)):
        model = GAugO(6, 5, 3, form=form)
        groups = make_optimizer(model, settings).param_groups
        decayed = [p for group in groups if group["weight_decay"] for p in group["params"]]
        inside = {id(parameter) for parameter in model.classifier.parameters()}
        assert len(decayed) == expected
        assert {id(parameter) for parameter in decayed} <= inside
