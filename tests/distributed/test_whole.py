import pytest
import torch

from akgnn.csr import CSR
from akgnn.distributed.parts import cut_in_memory
from akgnn.distributed.whole import whole_data
from parts_data import KINDS, small_data, some_owner


def dense(x):
    return x.to_dense() if isinstance(x, CSR) else x


@pytest.mark.parametrize("kind", KINDS)
def test_parts_put_together_are_the_data_that_were_cut(kind):
    data = small_data(kind)
    whole = whole_data(cut_in_memory(data, some_owner(40)))
    assert torch.equal(dense(whole.x), dense(data.x))
    assert torch.equal(whole.y, data.y)
    assert torch.equal(whole.graph.edge_index, data.graph.edge_index)
    if data.graph.edge_weight is not None:
        assert torch.equal(whole.graph.edge_weight, data.graph.edge_weight)
    assert whole.split.fingerprint == data.split.fingerprint
    assert (whole.name, whole.class_names) == (data.name, data.class_names)
