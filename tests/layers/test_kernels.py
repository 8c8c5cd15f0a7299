import pytest
import torch

from akgnn.errors import SettingsError, UnknownNameError
from akgnn.graph import Graph
from akgnn.layers.ak_conv import AKConv
from akgnn.layers.kernels import (
    KERNELS,
    SAME_STARTS,
    InitialValue,
    Kernel,
    PaperKernel,
    find_kernel,
    register_kernel,
)
from akgnn.ops.adaptive import adaptive_propagate
from oracles import dense, dense_kernel, random_graph

NAMES = sorted(KERNELS)
PHIS = torch.linspace(-1.5, 4, 23, dtype=torch.float64)


def ring(num_nodes):
    """Every node has two neighbours."""
    here = torch.arange(num_nodes)
    there = here.roll(1)
    return Graph.from_edge_index(
        torch.cat([torch.stack([here, there]), torch.stack([there, here])], 1)
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_initial_value_gives_back_its_scalar(name):
    kernel = find_kernel(name)
    low, high = kernel.search_space
    for scalar in (kernel.initial, low, high):
        phi = torch.tensor(kernel.phi_of(scalar), dtype=torch.float64)
        assert float(kernel.scalar(phi)) == pytest.approx(scalar)
    assert low < kernel.initial < high


@pytest.mark.parametrize("name", NAMES)
def test_the_point_of_gcn_has_equal_weights(name):
    kernel = find_kernel(name)
    for degree in (1.0, 3.9, 42.0):
        phi = torch.tensor(kernel.phi_of(kernel.gcn(degree)), dtype=torch.float64)
        own, neighbour = kernel.weights(phi, degree)
        assert float(own) == pytest.approx(float(neighbour))


@pytest.mark.parametrize("name", NAMES)
def test_filter_weights_add_up_to_two_in_size(name):
    all_pass, low_pass = find_kernel(name).filter_weights(PHIS)
    torch.testing.assert_close(all_pass + low_pass.abs(), torch.full_like(PHIS, 2))
    assert bool((all_pass >= 0).all())


@pytest.mark.parametrize("name", NAMES)
def test_the_response_passes_the_constant_signal_unless_neighbours_are_subtracted(name):
    kernel = find_kernel(name)
    at_zero = kernel.frequency_response(PHIS, torch.tensor(0.0))
    _, low_pass = kernel.filter_weights(PHIS)
    torch.testing.assert_close(at_zero[low_pass >= 0], torch.ones_like(at_zero[low_pass >= 0]))
    at_two = kernel.frequency_response(PHIS, torch.tensor(2.0))
    subtracts = low_pass < 0
    torch.testing.assert_close(at_two[subtracts], torch.ones_like(at_two[subtracts]))


@pytest.mark.parametrize("tau", [-3.0, -0.4, 0.0, 0.7, 5.0])
def test_the_signed_response_is_exact_where_degrees_are_equal(tau):
    graph = ring(12)
    laplacian = torch.eye(12, dtype=torch.float64) - dense(graph) / 2
    frequency, signals = torch.linalg.eigh(laplacian)
    conv = AKConv(kernel="signed", initial=tau).double()
    with torch.no_grad():
        # The constructor rounds through float32.
        conv.phi.fill_(tau)
        expected = signals * conv.frequency_response(frequency)
        torch.testing.assert_close(conv(signals, graph), expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tau", [-2.0, -0.3, 0.0, 0.5, 8.0])
def test_the_signed_kernel_is_its_formula(tau, weighted):
    graph = random_graph(0, weighted=weighted)
    x = torch.randn(graph.num_nodes, 3, dtype=torch.float64)
    conv = AKConv(kernel="signed").double()
    with torch.no_grad():
        conv.phi.fill_(tau)
    one = torch.ones((), dtype=torch.float64)
    expected = dense_kernel(dense(graph), one, tau / graph.mean_degree * one, "sym") @ x
    torch.testing.assert_close(conv(x, graph), expected, rtol=1e-10, atol=1e-10)


def test_at_zero_the_signed_kernel_is_the_identity_and_still_learns():
    graph = random_graph(1)
    x = torch.randn(graph.num_nodes, 3)
    conv = AKConv(kernel="signed", initial=0.0)
    out = conv(x, graph)
    assert torch.equal(out, x)
    out.square().sum().backward()
    assert float(conv.phi.grad) != 0


@pytest.mark.parametrize("name", NAMES)
def test_without_edges_every_kernel_is_the_identity(name):
    graph = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.int64), num_nodes=4)
    x = torch.randn(4, 3)
    conv = AKConv(kernel=name)
    assert torch.equal(conv(x, graph), x)
    conv(x, graph).sum().backward()
    assert float(conv.phi.grad or 0) == 0


def test_an_isolated_node_more_changes_nothing_for_the_others():
    graph = random_graph(2, isolated=0)
    larger = Graph.from_edge_index(graph.edge_index, num_nodes=graph.num_nodes + 5)
    x = torch.randn(larger.num_nodes, 2)
    conv = AKConv(kernel="signed", initial=-0.7)
    torch.testing.assert_close(
        conv(x, larger)[: graph.num_nodes], conv(x[: graph.num_nodes], graph)
    )


def test_an_unknown_kernel_is_refused_with_the_choices():
    with pytest.raises(UnknownNameError, match=r"Unknown kernel 'singed'.*Did you mean 'signed'"):
        AKConv(kernel="singed")


def test_a_registered_kernel_is_found_by_its_name(monkeypatch):
    monkeypatch.setattr("akgnn.layers.kernels.KERNELS", dict(KERNELS))
    kernel = PaperKernel()
    register_kernel("mine", kernel)
    assert AKConv(kernel="mine").kernel is kernel


@pytest.mark.parametrize(
    ("name", "kernel", "message"),
    [
        ("paper", PaperKernel(), "There is a kernel 'paper' already"),
        ("mine", PaperKernel, "must descend from Kernel, got <class"),
    ],
)
def test_a_taken_name_and_what_is_no_kernel_are_refused(name, kernel, message):
    with pytest.raises(SettingsError, match=message):
        register_kernel(name, kernel)
    assert sorted(KERNELS) == NAMES


def test_initial_values_are_written_for_people():
    assert InitialValue("gcn", learns=False).text == "GCN, fixed"
    assert InitialValue(-1.0).text == "-1"
    assert InitialValue(0.1, is_ratio=True).text == "neighbours × 0.1"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [value for value in SAME_STARTS if value.is_ratio])
def test_a_ratio_is_what_neighbours_weigh_together(name, value):
    kernel, mean_degree = KERNELS[name], 7.0
    phi = torch.tensor(kernel.phi_of(value.scalar_of(kernel, mean_degree)), dtype=torch.float64)
    a, w = (torch.as_tensor(each) for each in kernel.weights(phi, mean_degree))
    torch.testing.assert_close((w * mean_degree / a).item(), value.scalar)


def test_a_kernel_that_has_no_ratio_says_so():
    class Mine(PaperKernel):
        scalar_of_ratio = Kernel.scalar_of_ratio

    with pytest.raises(SettingsError, match=r"Mine does not say where .* same_starts needs"):
        SAME_STARTS[1].scalar_of(Mine(), 3.0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("groups", [1, 3])
def test_in_and_out_neighbours_have_scalars_of_their_own(name, groups):
    graph = random_graph(3, directed=True, weighted=True)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    conv = AKConv(kernel=name, normalisation="directed", groups=groups).double()
    with torch.no_grad():
        conv.phi.copy_(torch.linspace(0.4, 1.7, 2 * groups).view(2, groups))
    own, into, out = (
        torch.as_tensor(weight).expand(groups).repeat_interleave(6 // groups).double()
        for weight in conv.weights(graph)
    )
    expected = adaptive_propagate(graph, x, own, into, out, normalisation="row")
    torch.testing.assert_close(conv(x, graph), expected)
    expected.sum().backward()
    kernel = find_kernel(name)
    ratios = [
        torch.as_tensor(w / a).expand(groups)
        for a, w in (
            kernel.weights(conv.phi[0], graph.mean_degree),
            kernel.weights(conv.phi[1], graph.transpose.mean_degree),
        )
    ]
    found = [
        (torch.as_tensor(w) / conv.weights(graph)[0]).expand(groups)
        for w in conv.weights(graph)[1:]
    ]
    for one, other in zip(found, ratios, strict=True):
        torch.testing.assert_close(one, other)


def test_a_group_is_a_kernel_on_its_own_channels():
    graph = random_graph(4)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    bank = AKConv(kernel="signed", groups=3).double()
    with torch.no_grad():
        bank.phi.copy_(torch.tensor([[-1.0, 0.0, 2.0]]))
    out = bank(x, graph)
    for number, tau in enumerate((-1.0, 0.0, 2.0)):
        alone = AKConv(kernel="signed", initial=tau).double()
        part = slice(2 * number, 2 * number + 2)
        torch.testing.assert_close(out[:, part], alone(x[:, part], graph))


def test_the_share_of_neighbours_runs_from_minus_one_to_one():
    graph = random_graph(5)
    for tau, share in ((-1.0, -0.5), (0.0, 0.0), (3.0, 0.75), (1e6, 1.0)):
        found = AKConv(kernel="signed", initial=tau).neighbour_share(graph)
        torch.testing.assert_close(found, torch.tensor([share]), rtol=0, atol=1e-5)
    at_two = AKConv().neighbour_share(graph)
    torch.testing.assert_close(at_two, torch.tensor([graph.mean_degree / (1 + graph.mean_degree)]))


def test_shares_of_both_directions_and_all_groups():
    graph = random_graph(6, directed=True)
    conv = AKConv(kernel="signed", normalisation="directed", groups=2, initial=1.0)
    torch.testing.assert_close(conv.neighbour_share(graph), torch.full((2, 2), 1 / 3))


def test_channels_that_cannot_be_shared_out_are_refused():
    conv = AKConv(groups=4)
    with pytest.raises(ValueError, match="6 channels cannot be shared out evenly among 4 groups"):
        conv(torch.ones(12, 6), random_graph(7))
