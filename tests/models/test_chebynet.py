import pytest
import torch

from akgnn.models.chebynet import ChebyNet
from oracles import dense, random_graph


def chebyshev(layer, x, laplacian):
    """Σ_k T_k(L̃) x W_k + b with T_0 = I, T_1 = L̃, T_k = 2 L̃ T_(k-1) - T_(k-2)."""
    polynomials = [torch.eye(len(x), dtype=torch.float64), laplacian]
    while len(polynomials) < len(layer.lins):
        polynomials.append(2 * laplacian @ polynomials[-1] - polynomials[-2])
    terms = [p @ x @ lin.weight.T for p, lin in zip(polynomials, layer.lins, strict=False)]
    return sum(terms) + layer.bias


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_dense_formula(order, weighted):
    graph = random_graph(0, isolated=0, num_edges=40, weighted=weighted)
    model = ChebyNet(6, 5, 3, order=order).double().eval()
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    matrix, identity = dense(graph), torch.eye(graph.num_nodes, dtype=torch.float64)
    scale = matrix.sum(1) ** -0.5
    laplacian = identity - scale[:, None] * matrix * scale
    shifted = 2 * laplacian / torch.linalg.eigvalsh(laplacian)[-1] - identity
    hidden = torch.relu(chebyshev(model.first_layer, x, shifted))
    torch.testing.assert_close(model(x, graph), chebyshev(model.second_layer, hidden, shifted))
