import pytest
import torch

from akgnn.errors import UnknownNameError
from akgnn.models.registry import MODELS, build_model, find_model
from akgnn.ops.dropout import Noise
from oracles import random_graph


@pytest.mark.parametrize("name", MODELS)
def test_every_model_gives_a_score_for_each_node_and_class(name):
    graph = random_graph(0)
    model = build_model(name, find_model(name).settings(), 6, 3, seed=1)
    x = torch.rand(graph.num_nodes, 6)
    assert model(x, graph, Noise(0)).shape == (graph.num_nodes, 3)
    assert torch.equal(model.eval()(x, graph), model(x, graph))


@pytest.mark.parametrize("name", MODELS)
def test_the_seed_decides_the_initial_weights(name):
    def weights(seed):
        model = build_model(name, find_model(name).settings(), 6, 3, seed=seed)
        return torch.cat([parameter.detach().view(-1) for parameter in model.parameters()])

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_an_unknown_model_is_answered_with_a_guess():
    with pytest.raises(UnknownNameError, match="Did you mean 'akgnn'"):
        find_model("agknn")
