import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch_geometric.nn import GCNConv

from akgnn.errors import SettingsError
from akgnn.layers.ak_conv import AKConv
from oracles import dense, graphs, paper_kernel, random_graph

LAMBDAS = [1.0, 1 + 1e-9, 1.3, 2.0, 2.7, 10.0, 1e3, 1e6]


def conv_at(lambda_max, **options):
    return AKConv(initial=lambda_max, **options).double()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lambda_max", LAMBDAS)
@pytest.mark.parametrize("seed", range(3))
def test_equals_the_papers_formula(weighted, lambda_max, seed):
    graph = random_graph(seed, num_nodes=30, num_edges=60, weighted=weighted, isolated=3)
    x = torch.randn(30, 4, dtype=torch.float64)
    conv = conv_at(2.0)
    with torch.no_grad():
        # λ - 1 in float64, as the constructor would round it through float32.
        conv.phi.copy_(torch.tensor(lambda_max, dtype=torch.float64) - 1)
    expected = paper_kernel(dense(graph), conv.lambda_max.item()) @ x
    torch.testing.assert_close(conv(x, graph), expected, rtol=1e-10, atol=1e-10)


@given(graphs(), st.sampled_from(LAMBDAS))
def test_equals_the_papers_formula_on_any_graph(graph, lambda_max):
    x = torch.randn(graph.num_nodes, 2, dtype=torch.float64)
    conv = conv_at(lambda_max)
    expected = paper_kernel(dense(graph), float(conv.lambda_max.detach())) @ x
    torch.testing.assert_close(conv(x, graph), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", ["paper", "smooth", "signed"])
def test_gradcheck(kernel):
    graph = random_graph(0, num_nodes=7, num_edges=10, weighted=True)
    conv = conv_at(1.7, kernel=kernel)
    x = torch.randn(7, 3, dtype=torch.float64, requires_grad=True)

    def run(x, phi):
        return torch.func.functional_call(conv, {"phi": phi}, (x, graph))

    assert gradcheck(run, (x, conv.phi))


def test_starts_as_the_paper_says():
    conv = AKConv()
    assert float(conv.phi.detach()) == 1
    assert float(conv.lambda_max.detach()) == 2
    assert [float(weight.detach()) for weight in conv.filter_weights] == [1, 1]


@pytest.mark.parametrize("lambda_max", [1.1, 2.0, 5.0, 400.0])
def test_the_smooth_form_starts_at_the_same_lambda(lambda_max):
    conv = AKConv(initial=lambda_max, kernel="smooth")
    assert float(conv.lambda_max.detach()) == pytest.approx(lambda_max, rel=1e-6)


def test_lambda_two_is_gcn():
    graph = random_graph(1, weighted=True)
    x = torch.randn(graph.num_nodes, 4)
    gcn = GCNConv(4, 4, bias=False)
    with torch.no_grad():
        gcn.lin.weight.copy_(torch.eye(4))
    weight = graph.edge_weight.float()
    expected = gcn(x, graph.edge_index, weight)
    torch.testing.assert_close(AKConv()(x, graph), expected, rtol=1e-6, atol=1e-6)


def test_theorem_1_low_pass_end():
    graph = random_graph(2, isolated=0, num_edges=40)
    matrix = dense(graph)
    scale = matrix.sum(1) ** -0.5
    x = torch.randn(graph.num_nodes, 3, dtype=torch.float64)
    expected = scale[:, None] * matrix * scale @ x
    torch.testing.assert_close(conv_at(1.0)(x, graph), expected)


def test_theorem_1_all_pass_end():
    graph = random_graph(3)
    x = torch.randn(graph.num_nodes, 3, dtype=torch.float64)
    torch.testing.assert_close(conv_at(1e12)(x, graph), x, rtol=1e-9, atol=1e-9)


def test_filter_weights_add_up_to_two():
    for lambda_max in LAMBDAS:
        all_pass, low_pass = conv_at(lambda_max).filter_weights
        assert float((all_pass + low_pass).detach()) == pytest.approx(2)
        assert float(low_pass.detach()) == pytest.approx(2 / lambda_max)


def test_frequency_response_is_the_plain_kernel_of_equation_5_halved():
    graph = random_graph(4, isolated=0, num_edges=40)
    matrix = dense(graph)
    scale = matrix.sum(1) ** -0.5
    normalised = scale[:, None] * matrix * scale
    conv = conv_at(1.6)
    all_pass, low_pass = (weight.detach() for weight in conv.filter_weights)
    plain = (all_pass * torch.eye(len(matrix)) + low_pass * normalised) / 2
    frequency, signals = torch.linalg.eigh(torch.eye(len(matrix)) - normalised)
    expected = signals * conv.frequency_response(frequency).detach()
    torch.testing.assert_close(plain @ signals, expected)


def test_renormalised_kernel_has_that_response_where_degrees_are_equal():
    ring = torch.arange(10)
    index = torch.cat([torch.stack([ring, ring.roll(1)]), torch.stack([ring.roll(1), ring])], 1)
    x = torch.tensor([1.0, -1.0]).repeat(5).unsqueeze(1)
    # Degree 2 and r = 1: the highest frequency, 2, is multiplied by (r - d) / (r + d).
    torch.testing.assert_close(AKConv()(x, index), -x / 3)


def test_edge_index_and_graph_give_the_same():
    graph = random_graph(5, weighted=True)
    x = torch.randn(graph.num_nodes, 3)
    conv = AKConv()
    assert torch.equal(conv(x, graph.edge_index, graph.edge_weight), conv(x, graph))


@pytest.mark.parametrize("kernel", ["paper", "signed"])
def test_edge_weights_that_learn_get_a_gradient(kernel):
    graph = random_graph(12, weighted=True)
    x, conv = torch.randn(graph.num_nodes, 3), AKConv(kernel=kernel, initial=1.5)
    weight = graph.edge_weight.float().requires_grad_()
    out = conv(x, graph.edge_index, weight)
    torch.testing.assert_close(out, conv(x, graph.edge_index, weight.detach()))
    out.square().sum().backward()
    assert bool((weight.grad != 0).any())
    assert float(conv.phi.grad) != 0


def test_second_graph_is_not_ignored():
    conv = AKConv()
    first, second = random_graph(6), random_graph(7, num_nodes=20)
    conv(torch.randn(first.num_nodes, 3), first)
    x = torch.randn(20, 3)
    assert torch.equal(conv(x, second), AKConv()(x, second))


def test_a_dead_relu_stays_at_lambda_one_and_softplus_does_not():
    graph = random_graph(8)
    x = torch.randn(graph.num_nodes, 3)
    for kernel in ("paper", "smooth"):
        conv, smooth = AKConv(kernel=kernel), kernel == "smooth"
        with torch.no_grad():
            conv.phi.fill_(-0.5)
        conv(x, graph).square().sum().backward()
        assert (float(conv.phi.grad) != 0) == smooth
        assert (float(conv.lambda_max.detach()) == 1) == (not smooth)


def test_a_fixed_lambda_does_not_learn():
    conv = AKConv(initial=3.0, learn=False)
    assert not conv.phi.requires_grad
    assert "λ=3.000 (fixed)" in repr(conv)


def test_row_form_takes_a_directed_graph():
    graph = random_graph(9, directed=True)
    x = torch.ones(graph.num_nodes, 2)
    torch.testing.assert_close(AKConv(normalisation="row")(x, graph), x)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"initial": 0.5}, "λ must be at least 1, got 0.5"),
        ({"initial": math.inf}, "λ must be finite, got inf"),
        ({"initial": math.nan}, "finite"),
        ({"initial": 1e39}, "finite"),
        ({"normalisation": "both"}, "normalisation must be 'sym', 'row' or 'directed', got 'both'"),
        ({"initial": 1.0, "kernel": "smooth"}, "λ must be above 1"),
        ({"initial": -math.inf, "kernel": "signed"}, "τ must be finite"),
        ({"groups": 0}, "groups must be at least 1, got 0"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(SettingsError, match=message):
        AKConv(**options)


def test_a_graph_does_not_take_further_weights():
    graph = random_graph(10)
    with pytest.raises(SettingsError, match="edge_weight goes with edge_index"):
        AKConv()(torch.ones(graph.num_nodes, 1), graph, torch.ones(graph.num_edges))
