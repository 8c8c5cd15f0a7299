import logging
import warnings

import pytest
import torch
from torch import nn

from akgnn.errors import ExportError
from akgnn.export.program import (
    program_for_any_graph,
    program_for_graph,
    quietly,
)
from akgnn.graph import Graph
from akgnn.models.registry import build_model, find_model

EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
WEIGHT = torch.tensor([1.0, 1.0, 3.0, 3.0])
X = torch.arange(12.0).view(4, 3) / 12


def make(name):
    return build_model(name, find_model(name).settings(), 3, 2, seed=0).eval()


@pytest.mark.parametrize(
    ("name", "weight"), [("akgnn", WEIGHT), ("chebynet", None), ("chebynet", WEIGHT)]
)
def test_a_program_for_a_graph_is_a_function_of_the_features(name, weight):
    model, graph = make(name), Graph.from_edge_index(EDGES, weight, num_nodes=4)
    program = program_for_graph(model, graph, 3)
    with torch.no_grad():
        assert torch.allclose(program.module()(X), model(X, graph), atol=1e-6)
    # The features it was traced with are not kept with it.
    assert program.example_inputs is None


@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_program_for_any_graph_takes_other_sizes_and_leaves_out_self_loops(is_weighted):
    model = make("akgnn")
    program = program_for_any_graph(model, 3, is_weighted=is_weighted)
    graph = Graph.from_edge_index(EDGES, WEIGHT if is_weighted else None, num_nodes=4)
    edges = torch.cat([EDGES, torch.tensor([[3], [3]])], 1)
    weight = [torch.cat([WEIGHT, torch.tensor([9.0])])] if is_weighted else []
    with torch.no_grad():
        assert torch.allclose(program.module()(X, edges, *weight), model(X, graph), atol=1e-6)


def test_what_cannot_be_followed_is_said_in_one_line():
    class Branching(nn.Module):
        def forward(self, x, graph):
            return x if float(x.sum()) > 0 else -x

    graph = Graph.from_edge_index(EDGES, num_nodes=4)
    with pytest.raises(ExportError, match=r"^torch\.export cannot follow it: [^\n]+[^.]$"):
        program_for_graph(Branching(), graph, 3)
    with pytest.raises(ExportError, match="it needs the largest eigenvalue"):
        program_for_any_graph(make("chebynet"), 3, is_weighted=False)


def test_packages_are_quiet_inside_and_as_before_outside():
    logger = logging.getLogger("some.package")
    logger.setLevel(logging.INFO)

    def work():
        with quietly("some.package"):
            assert logger.level == logging.ERROR
            # Which the tests would take for an error.
            warnings.warn("not shown", stacklevel=1)
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert logger.level == logging.INFO
