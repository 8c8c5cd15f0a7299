"""What models are wrongly called with: one suite over every registered model."""

import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.errors import AkgnnError, DataError
from akgnn.models.registry import MODELS, build_model
from akgnn.runs.presets import default_settings

DATA = load_dataset("csbm:num_nodes=60")
X, GRAPH = DATA.x, DATA.graph


@pytest.fixture(scope="module", params=sorted(MODELS))
def model(request):
    settings = default_settings(request.param).model
    return build_model(request.param, settings, DATA.num_features, DATA.num_classes).eval()


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (torch.rand(60, 33), r"shape \(nodes, 32\) for this layer, got \[60, 33\]"),
        (X.double(), r"x is torch\.float64, but the weights are torch\.float32; convert x with"),
        (X.long(), r"floating-point numbers, got torch\.int64; x\.float\(\) converts"),
        (X.numpy(), "x must be a torch tensor or CSR, .*got ndarray"),
        (None, "x must be a torch tensor or CSR, .*got NoneType"),
        (GRAPH, "x must be a torch tensor or CSR, .*got Graph"),
    ],
)
def test_features_that_do_not_fit_are_refused(model, x, words):
    with pytest.raises(DataError, match=words):
        model(x, GRAPH)


def test_a_graph_that_does_not_fit_is_refused(model):
    if type(model).__name__ == "MLP":
        # It does not look at the graph.
        assert model(X, None).shape == (60, DATA.num_classes)
        return
    with pytest.raises(AkgnnError, match=r"graph must be a Graph or PyG's edge_index, got NoneTyp"):
        model(X, None)
    with pytest.raises(AkgnnError, match=r"shape \(60, channels\) for this graph, got \[30, 32\]"):
        model(X[:30], GRAPH)
