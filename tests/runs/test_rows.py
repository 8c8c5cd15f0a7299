import numpy as np
import pytest
import torch
from scipy import sparse

from akgnn.data.catalogue import load_dataset
from akgnn.data.transforms import csr_from_scipy
from akgnn.runs.rows import feature_tensors, kept_rows, row_tensors

DENSE = torch.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    "x", [DENSE, csr_from_scipy(sparse.csr_array(np.diag([1.0, 2.0])))], ids=["dense", "sparse"]
)
def test_rows_come_back(x):
    found = kept_rows(feature_tensors("table", x), 2, 3).x
    dense = [each if isinstance(each, torch.Tensor) else each.to_dense() for each in (found, x)]
    assert torch.equal(*dense)


def test_a_graph_of_its_own_keeps_no_rows():
    assert row_tensors(load_dataset("csbm:num_nodes=60")) == {}


@pytest.mark.parametrize(
    "tensors",
    [
        {"table": DENSE[0]},
        {"table": DENSE[:, :1]},
        {"table": DENSE.double()},
        {"table": DENSE / 0},
        {"table": DENSE, "labels": torch.tensor([0, 1])},
        {"table": DENSE, "labels": torch.tensor([0, 1, 3])},
        {"table": DENSE, "labels": torch.tensor([0, -2, 1])},
        {"table": DENSE, "labels": torch.zeros(3)},
    ],
    ids=[
        "one row",
        "fewer features",
        "float64",
        "infinite",
        "few labels",
        "another class",
        "below",
        "no integers",
    ],
)
def test_rows_that_do_not_fit_are_refused(tensors):
    with pytest.raises(ValueError, match="training rows"):
        kept_rows(tensors, 2, 3)
