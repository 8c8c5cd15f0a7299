"""A small table, and the graph that joins rows of a class, which is what its labels follow."""

from importlib.util import find_spec

import numpy as np
import pytest
import torch

from akgnn.graph import Graph

# On a machine without these packages, as `make gpu-test` may find it, there is nothing to test.
if any(find_spec(name) is None for name in ("sklearn", "pandas", "polars")):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def table():
    """30 rows of each of three classes, in well separated clusters."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    centres = np.array([[0.0, 0, 0, 9], [4, 0, 1, 9], [0, 4, 2, 9]])
    return centres[y] + rng.standard_normal((90, 4)), y


@pytest.fixture(scope="session")
def graph(table):
    """Each node with its next two of the same class; both directions."""
    y = table[1]
    source = np.arange(len(y))
    pairs = [(i, (i + step) % 30 + 30 * (i // 30)) for i in source for step in (1, 2)]
    index = np.array(pairs).T
    both = np.concatenate([index, index[::-1]], axis=1)
    return Graph.from_edge_index(torch.tensor(both), num_nodes=len(y))
