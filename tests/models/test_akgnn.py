import itertools

import pytest
import torch

from akgnn.data.transforms import sparse_if_sparse
from akgnn.errors import SettingsError
from akgnn.layers.kernels import KERNELS
from akgnn.models.akgnn import AKGNN
from akgnn.ops.dropout import Noise
from oracles import dense, paper_kernel, random_graph

READOUTS = ["sum", "mean", "max", "concat", "last"]


def build(**options):
    model = AKGNN(6, 5, 3, generator=torch.Generator().manual_seed(0), **options)
    with torch.no_grad():
        for k, layer in enumerate(model.layers):
            layer.phi.fill_(0.3 + 0.5 * k)
    return model.double().eval()


def by_the_equations(model, x, matrix):
    """Equations 8 and 9 with the dense kernels of equation 6."""
    h = torch.relu(x @ model.transforms[0].weight + model.transforms[0].bias)
    outputs = []
    for lambda_max in model.lambda_max.tolist():
        h = paper_kernel(matrix, lambda_max) @ h
        outputs.append(h)
    stacked = torch.stack(outputs)
    read_out = {
        "sum": lambda: stacked.sum(0),
        "mean": lambda: stacked.mean(0),
        "max": lambda: stacked.amax(0),
        "concat": lambda: torch.cat(outputs, 1),
        "last": lambda: outputs[-1],
    }[model.settings.readout]()
    return read_out @ model.classifier[0].weight + model.classifier[0].bias


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("num_layers", [1, 4])
def test_equals_the_papers_equations(readout, num_layers):
    graph = random_graph(0, weighted=True)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = build(readout=readout, num_layers=num_layers)
    torch.testing.assert_close(model(x, graph), by_the_equations(model, x, dense(graph)))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"share_weights": False},
        {"groups": 5, "kernel": "signed"},
        {"normalisation": "directed"},
    ],
    ids=str,
)
def test_signals_are_what_the_readout_reads(options):
    graph = random_graph(11)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = build(num_layers=3, **options)
    first, *others = model.signals(x, graph)
    assert len(others) == 3
    assert torch.equal(model.layers[0](first, graph), others[0]) or not model.settings.share_weights
    torch.testing.assert_close(model.embed(x, graph), sum(others))


def test_without_the_trick_each_layer_has_its_own_matrix():
    graph = random_graph(1)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = build(share_weights=False, num_layers=3)
    h, total = x, 0
    for transform, lambda_max in zip(model.transforms, model.lambda_max.tolist(), strict=True):
        kernel = paper_kernel(dense(graph), lambda_max)
        h = torch.relu(kernel @ (h @ transform.weight + transform.bias))
        total = total + h
    expected = total @ model.classifier[0].weight + model.classifier[0].bias
    torch.testing.assert_close(model(x, graph), expected)


def test_leaky_activation_and_row_form_change_the_result():
    graph = random_graph(3)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    base = build()(x, graph)
    for options in ({"activation": "leaky_relu"}, {"normalisation": "row"}):
        assert not torch.allclose(build(**options)(x, graph), base)


def test_fixed_lambda_has_no_learning_scalars():
    model = build(learn_lambda=False)
    assert not any(layer.phi.requires_grad for layer in model.layers)
    learning = build()
    assert all(layer.phi.requires_grad for layer in learning.layers)


@pytest.mark.parametrize(
    ("readout", "share_weights", "kernel", "classifier_layers"),
    list(itertools.product(READOUTS, [True, False], list(KERNELS), [1, 2])),
)
def test_every_parameter_gets_a_gradient(readout, share_weights, kernel, classifier_layers):
    graph = random_graph(4)
    model = AKGNN(
        6,
        8,
        3,
        readout=readout,
        share_weights=share_weights,
        kernel=kernel,
        classifier_layers=classifier_layers,
    )
    model(torch.rand(graph.num_nodes, 6), graph, Noise(0)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_sparse_and_dense_features_train_alike():
    graph = random_graph(5)
    x = torch.rand(graph.num_nodes, 40) * (torch.rand(graph.num_nodes, 40) < 0.05)
    model = AKGNN(40, 5, 3)
    noise = Noise(3, 1)
    sparse = sparse_if_sparse(x)
    assert not isinstance(sparse, torch.Tensor)
    torch.testing.assert_close(model(sparse, graph, noise), model(x, graph, noise))


@pytest.mark.parametrize(
    "rate", ["input_dropout", "transform_dropout", "layer_dropout", "classifier_dropout"]
)
def test_each_dropout_drops_by_itself(rate):
    rates = {"input_dropout", "transform_dropout", "layer_dropout", "classifier_dropout"}
    graph = random_graph(6)
    x = torch.rand(graph.num_nodes, 6)
    model = AKGNN(6, 16, 3, **{name: 0.5 if name == rate else 0.0 for name in rates})
    out = model(x, graph, Noise(0, 0))
    assert torch.equal(out, model(x, graph, Noise(0, 0)))
    assert not torch.equal(out, model(x, graph, Noise(0, 1)))
    assert not torch.equal(out, model(x, graph, Noise(1, 0)))


def test_dropout_keeps_the_mean_of_the_scores():
    # Without non-linearity in the way, the mean over many masks is the score without dropout.
    graph = random_graph(7)
    x = torch.rand(graph.num_nodes, 6)
    rates = {"transform_dropout": 0.2, "layer_dropout": 0.2, "classifier_dropout": 0.2}
    model = AKGNN(6, 16, 3, input_dropout=0.0, num_layers=3, **rates)
    with torch.no_grad():
        scores = torch.stack([model(x, graph, Noise(0, step)) for step in range(2000)])
        expected = model.eval()(x, graph)
    error = scores.std(0) / 2000**0.5
    assert bool(((scores.mean(0) - expected).abs() < 5 * error).all())


def test_second_graph_is_not_ignored():
    model = build()
    first, second = random_graph(9), random_graph(10, num_nodes=20)
    x = torch.randn(20, 6, dtype=torch.float64)
    model(x[:12], first)
    torch.testing.assert_close(model(x, second), by_the_equations(model, x, dense(second)))


def test_wrong_settings_are_refused():
    with pytest.raises(SettingsError, match="num_layers must be from 1 to 1000"):
        AKGNN(6, 5, 3, num_layers=0)


@pytest.mark.gpu
def test_gpu_gives_what_the_cpu_gives():
    graph = random_graph(11)
    x = torch.rand(graph.num_nodes, 6)
    model = AKGNN(6, 16, 3)
    here = model(x, graph, Noise(0))
    there = model.cuda()(x.cuda(), graph.to("cuda"), Noise(0))
    torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-5)


def test_nodes_are_dropped():
    graph = random_graph(17)
    x = torch.rand(graph.num_nodes, 6)
    model = AKGNN(6, 5, 3, node_dropout=0.5).eval()
    other = AKGNN(6, 5, 3).eval()
    other.load_state_dict(model.state_dict())
    torch.testing.assert_close(model(x, graph), other(x / 2, graph))


@pytest.mark.parametrize("classifier_layers", [1, 2])
def test_nodes_are_classified_alone_as_among_all(classifier_layers):
    model = build(classifier_layers=classifier_layers, classifier_dropout=0.5)
    graph, x = random_graph(1), torch.randn(random_graph(1).num_nodes, 6, dtype=torch.float64)
    nodes = torch.tensor([0, 3, 4, graph.num_nodes - 1])
    noise = Noise(7, 3)
    torch.testing.assert_close(model(x, graph, noise, nodes=nodes), model(x, graph, noise)[nodes])
    torch.testing.assert_close(model(x, graph, nodes=nodes), model(x, graph)[nodes])


@pytest.mark.parametrize("classified", ["all nodes", "some nodes"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "signed", "readout": "mean", "normalisation": "row"},
        {"groups": 4, "readout": "last"},
    ],
)
def test_channels_one_slice_after_the_other_give_what_all_at_once_do(options, classified):
    graph = random_graph(1)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    nodes = torch.tensor([0, 3, 4]) if classified == "some nodes" else None
    results = []
    for channels_at_once in (0, 4, 12):
        generator = torch.Generator().manual_seed(0)
        settings = {"num_layers": 3, "channels_at_once": channels_at_once, **options}
        model = AKGNN(6, 16, 3, generator=generator, **settings).double().train()
        scores = model(x, graph, Noise(7, 3), nodes=nodes)
        scores.square().sum().backward()
        evaluated = model.eval()(x, graph, nodes=nodes)
        results.append([scores, evaluated, *(p.grad for p in model.parameters())])
    for other in results[1:]:
        torch.testing.assert_close(other, results[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"channels_at_once": 6},
        {"channels_at_once": 4, "groups": 2},
        {"channels_at_once": 4, "readout": "max"},
        {"channels_at_once": 4, "share_weights": False},
        {"channels_at_once": 4, "recompute": True},
    ],
)
def test_slices_that_do_not_fit_are_refused(options):
    with pytest.raises(SettingsError, match="channels_at_once"):
        AKGNN(6, 16, 3, **options)
