from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from akgnn.data.catalogue import load_dataset
from akgnn.data.neighbours import Neighbours
from akgnn.errors import DataError
from akgnn.estimator.fitted import Fitted, undirected_if_needed
from akgnn.estimator.inputs import Scaling, fingerprint
from akgnn.estimator.neighbours import ByMetric
from akgnn.graph import Graph
from akgnn.models.registry import build_model
from akgnn.runs.facts import DataFacts
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.run import Run
from akgnn.training.history import History
from akgnn.training.result import FitResult

ROWS = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 8.0]])
ONE_WAY = Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
CPU = torch.device("cpu")


def fitted(normalisation="row", **parts):
    """A model of two features and three classes that nobody trained."""
    changes = {"hidden_channels": 4, "num_layers": 2, "normalisation": normalisation}
    plan = RunPlan.make(RunSettings(dataset="table", preset="any-graph"), changes)
    facts = DataFacts("table", 4, 3, 2, ("a", "b", "c"), "all:0", {})
    result = FitResult({}, 1, 1, 0.0, (), (), (), History())
    model = build_model("akgnn", plan.preset.model, 2, 3, seed=0)
    return Fitted(Run(plan, facts, result, trained_model=model), **parts)


def test_rows_are_seen_on_the_graph_that_comes_with_them():
    placed = fitted().place(ROWS, sparse.csr_array(np.eye(4, k=1)))
    assert torch.equal(placed.graph.edge_index, ONE_WAY.edge_index)
    assert (placed.x.dtype, placed.dtype, placed.first) == (torch.float32, torch.float32, 0)
    # The symmetric kernel needs both directions.
    assert fitted("sym").place(ROWS, ONE_WAY).graph.num_edges == 6


def test_the_training_table_is_seen_on_the_training_graph():
    known = fitted(graph=ONE_WAY, rows=fingerprint(ROWS))
    assert known.place(ROWS, None).graph is ONE_WAY
    with pytest.raises(DataError, match="X is not the table that came with it"):
        known.place(ROWS + 1, None)
    with pytest.raises(DataError, match="X is not the table that came with it"):
        fitted().place(ROWS, None)


def test_columns_are_scaled_as_in_training():
    scaling = Scaling(np.array([1.0, 2.0]), np.array([2.0, 4.0]))
    known = fitted(scaling=scaling, graph=ONE_WAY, rows=fingerprint(ROWS))
    expected = torch.tensor((ROWS - [1, 2]) / [2, 4], dtype=torch.float32)
    # The fingerprint is of the table as it was given.
    assert torch.equal(known.place(ROWS, None).x, expected)


def test_new_rows_are_linked_to_the_rows_of_training():
    neighbours = Neighbours.build(ROWS, 2, ByMetric("euclidean"))
    linked = fitted(neighbours=neighbours)
    new = np.array([[1.0, 2.0]])
    placed = linked.place(new, None)
    assert (placed.dtype, placed.x.dtype) == (torch.float64, torch.float64)
    assert torch.equal(placed.x[placed.first :], torch.tensor(new))
    assert placed.graph.num_nodes == len(placed.x)
    with pytest.raises(DataError, match="training had none"):
        linked.place(new, ONE_WAY)
    with pytest.raises(DataError, match="trained on a table without a graph"):
        linked.place_data(load_dataset("csbm:num_nodes=60"), 32)


def test_node_data_bring_their_graph_and_must_have_the_features():
    data = load_dataset("csbm:num_nodes=60,num_features=2")
    placed = fitted().place_data(replace(data, x=data.x.double()), 2)
    assert placed.x.dtype == torch.float32
    assert placed.graph is data.graph
    with pytest.raises(DataError, match="csbm has 2 features, but the model expects 5"):
        fitted().place_data(data, 5)


def test_asking_leaves_the_model_as_it_was():
    known = fitted()
    model = known.run.model
    placed = replace(known.place(ROWS, ONE_WAY), first=1)
    scores = known.ask(placed, CPU, "forward")
    with torch.no_grad():
        expected = model(placed.x, placed.graph)[1:]
    assert scores.dtype == torch.float64
    assert torch.equal(scores, expected.double())
    assert known.ask(placed, CPU, "embed").shape == (3, 4)
    # In float64 the answer has more digits, and the model keeps its own.
    more = known.ask(replace(placed, x=placed.x.double(), dtype=torch.float64), CPU, "forward")
    assert torch.allclose(more, scores, atol=1e-5)
    assert not torch.equal(more, scores)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


@pytest.mark.parametrize(("normalisation", "edges"), [("sym", 6), ("row", 3), ("directed", 3)])
def test_only_the_symmetric_kernel_needs_both_directions(normalisation, edges):
    preset = fitted(normalisation).preset
    assert undirected_if_needed(ONE_WAY, preset).num_edges == edges
