import itertools

import pytest
import torch

from akgnn.data.pyg import sparse_if_sparse
from akgnn.errors import AkgnnError, SettingsError
from akgnn.layers.batch_norm import BatchNorm
from akgnn.layers.dropout import Dropout
from akgnn.layers.kernels import KERNELS
from akgnn.models import akgnn as akgnn_module
from akgnn.models.akgnn import AKGNN
from akgnn.ops.dropout import Noise
from oracles import dense, paper_kernel, random_graph, renormalised

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
        {"order": "propagate-first"},
        {"order": "propagate-first", "readout": "max"},
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
    if model.settings.order == "propagate-first":
        # The bias and the non-linearity follow the readout.
        read = model._read_out([first, *others])
        read = read if read.size(1) == 5 else read @ model.transforms[0].weight
        expected = torch.relu(read + model.transforms[0].bias)
    else:
        expected = model._read_out(others)
    torch.testing.assert_close(model.embed(x, graph), expected)


@pytest.mark.parametrize("order", ["transform-first", "propagate-first"])
def test_edge_index_and_graph_give_the_same(order):
    graph = random_graph(12)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = build(order=order)
    torch.testing.assert_close(model(x, graph.edge_index), model(x, graph))


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


def test_a_deep_classifier_has_a_non_linearity_between():
    graph = random_graph(2)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = build(classifier_layers=2)
    first, second = model.classifier
    hidden = torch.relu(model.embed(x, graph) @ first.weight + first.bias)
    torch.testing.assert_close(model(x, graph), hidden @ second.weight + second.bias)


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
def test_each_place_drops_by_itself(rate):
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


def test_training_mode_asks_for_noise():
    graph = random_graph(8)
    with pytest.raises(SettingsError, match="noise"):
        AKGNN(6, 5, 3)(torch.rand(graph.num_nodes, 6), graph)


def test_second_graph_is_not_ignored():
    model = build()
    first, second = random_graph(9), random_graph(10, num_nodes=20)
    x = torch.randn(20, 6, dtype=torch.float64)
    model(x[:12], first)
    torch.testing.assert_close(model(x, second), by_the_equations(model, x, dense(second)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_layers": 0}, "num_layers must be from 1 to 1000"),
        ({"num_layer": 3}, "Did you mean 'num_layers'"),
        ({"readout": "median"}, "readout must be one of sum, mean, max, concat, last"),
        ({"layer_dropout": 1.0}, "layer_dropout must be"),
        ({"normalisation": "both"}, "normalisation must be one of sym, row"),
        ({"order": "propagate"}, "order must be one of transform-first, propagate-first"),
        ({"order": "propagate-first", "share_weights": False}, "has one transform"),
        ({"batch_norm": True}, "batch_norm needs order='propagate-first'"),
    ],
)
def test_wrong_settings_are_refused(options, message):
    with pytest.raises(AkgnnError, match=message):
        AKGNN(6, 5, 3, **options)


@pytest.mark.gpu
def test_gpu_gives_what_the_cpu_gives():
    graph = random_graph(11)
    x = torch.rand(graph.num_nodes, 6)
    model = AKGNN(6, 16, 3)
    here = model(x, graph, Noise(0))
    there = model.cuda()(x.cuda(), graph.to("cuda"), Noise(0))
    torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-5)


def test_no_two_places_share_their_masks():
    model = AKGNN(6, 5, 3, num_layers=4, classifier_layers=3)
    places = [module.place for module in model.modules() if isinstance(module, Dropout)]
    places.append(model.drop_nodes.place)
    assert len(places) == len(set(places)) == 3 + 4 + 3


# The other order: propagation on the features, then the transform.

NO_DROPOUT = {"input_dropout": 0.0, "transform_dropout": 0.0, "layer_dropout": 0.0}


def propagate_first(**options):
    return build(order="propagate-first", node_dropout=0.4, **options)


def randomise_statistics(model):
    """As after some training."""
    for norm in model.norms:
        for tensor in (norm.weight.data, norm.bias.data, norm.running_mean):
            tensor.normal_()
        norm.running_var.uniform_(0.5, 2.0)


def readout_by_the_formula(model, x, matrix):
    outputs = [x]
    for lambda_max in model.lambda_max.tolist():
        outputs.append(paper_kernel(matrix, lambda_max) @ outputs[-1])
    stacked = torch.stack(outputs)
    return {
        "sum": lambda: stacked.sum(0),
        "mean": lambda: stacked.mean(0),
        "max": lambda: stacked.amax(0),
        "concat": lambda: torch.cat(outputs, 1),
        "last": lambda: outputs[-1],
    }[model.settings.readout]()


def standardised(norm, h):
    """Batch normalisation with its kept statistics."""
    if not isinstance(norm, BatchNorm):
        return h
    return (h - norm.running_mean) / (norm.running_var + 1e-5) ** 0.5 * norm.weight + norm.bias


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("transform_bias", [False, True])
def test_propagating_first_equals_the_formula(readout, batch_norm, transform_bias):
    graph = random_graph(12, weighted=True)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = propagate_first(
        readout=readout, num_layers=3, batch_norm=batch_norm, transform_bias=transform_bias
    )
    if batch_norm:
        randomise_statistics(model)
    h = readout_by_the_formula(model, 0.6 * x, dense(graph))
    transform, classifier = model.transforms[0], model.classifier[0]
    h = standardised(model.norms[0], h) @ transform.weight
    h = torch.relu(h + transform.bias if transform_bias else h)
    expected = standardised(model.norms[1], h) @ classifier.weight + classifier.bias
    torch.testing.assert_close(model(x, graph), expected)


@pytest.mark.parametrize("readout", ["sum", "mean", "last"])
@pytest.mark.parametrize(("batch_norm", "training"), [(False, False), (False, True), (True, False)])
def test_the_cheaper_order_of_products_changes_nothing(readout, batch_norm, training, monkeypatch):
    graph = random_graph(13)
    x = sparse_if_sparse(torch.eye(graph.num_nodes, 6, dtype=torch.float64))
    model = propagate_first(readout=readout, batch_norm=batch_norm, **NO_DROPOUT)
    if batch_norm:
        randomise_statistics(model)
    noise = Noise(0) if training else None
    model.train(training)

    def scores_and_gradients():
        model.zero_grad()
        out = model(x, graph, noise)
        out.square().sum().backward()
        return out, [parameter.grad for parameter in model.parameters()]

    assert model._commutes(noise)
    cheap = scores_and_gradients()
    monkeypatch.setattr(model, "_commutes", lambda noise: False)
    torch.testing.assert_close(cheap, scores_and_gradients())


def test_dropped_values_and_batch_statistics_forbid_the_cheaper_order():
    for options in ({"input_dropout": 0.1}, {"layer_dropout": 0.1}, {"batch_norm": True}):
        model = propagate_first(**{**NO_DROPOUT, **options})
        assert not model.train()._commutes(Noise(0))
        assert model.eval()._commutes(None)
    assert not propagate_first(readout="max")._commutes(None)


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("layer_dropout", [0.0, 0.5])
def test_channels_a_part_at_a_time_change_nothing(readout, layer_dropout, monkeypatch):
    graph = random_graph(18)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    options = {**NO_DROPOUT, "input_dropout": 0.5, "layer_dropout": layer_dropout}
    model = propagate_first(readout=readout, **options).train()

    def scores_and_gradients():
        model.zero_grad()
        out = model(x, graph, Noise(0))
        out.square().sum().backward()
        return out, [parameter.grad for parameter in model.parameters()]

    whole = scores_and_gradients()
    monkeypatch.setattr(akgnn_module, "_NUMBERS_AT_ONCE", 1)
    monkeypatch.setattr(akgnn_module, "_FEWEST_CHANNELS", 4)
    torch.testing.assert_close(whole, scores_and_gradients())


def test_at_lambda_2_it_is_grands_random_propagation():
    graph = random_graph(14)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = AKGNN(6, 5, 3, order="propagate-first", readout="mean", node_dropout=0.5, **NO_DROPOUT)
    model.double()
    noise = Noise(2)
    mask = model.drop_nodes(torch.ones_like(x), noise)
    assert 0 < mask.mean() < 1
    matrix = renormalised(graph)
    powers = [torch.linalg.matrix_power(matrix, k) for k in range(6)]
    mixed = sum(powers) / 6 @ (mask * x)
    hidden = torch.relu(mixed @ model.transforms[0].weight + model.transforms[0].bias)
    torch.testing.assert_close(model.embed(x, graph, noise), hidden)


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("input_dropout", [0.0, 0.5])
def test_every_parameter_of_the_other_order_gets_a_gradient(batch_norm, input_dropout):
    graph = random_graph(15)
    options = {**NO_DROPOUT, "input_dropout": input_dropout, "batch_norm": batch_norm}
    model = AKGNN(6, 16, 3, order="propagate-first", node_dropout=0.5, readout="mean", **options)
    weights = torch.rand(graph.num_nodes, 3)
    (model(torch.rand(graph.num_nodes, 6), graph, Noise(0)) * weights).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
    assert all(layer.phi.grad != 0 for layer in model.layers)


def test_sparse_and_dense_features_train_alike_in_the_other_order():
    graph = random_graph(16)
    x = torch.rand(graph.num_nodes, 40) * (torch.rand(graph.num_nodes, 40) < 0.05)
    model = AKGNN(40, 5, 3, order="propagate-first", node_dropout=0.5, batch_norm=True)
    sparse = sparse_if_sparse(x)
    assert not isinstance(sparse, torch.Tensor)
    noise = Noise(3, 1)
    torch.testing.assert_close(model(sparse, graph, noise), model(x, graph, noise))
    with pytest.raises(SettingsError, match="noise"):
        model(sparse, graph)


def test_nodes_are_dropped_in_the_papers_order_too():
    graph = random_graph(17)
    x = torch.rand(graph.num_nodes, 6)
    model = AKGNN(6, 5, 3, node_dropout=0.5).eval()
    other = AKGNN(6, 5, 3).eval()
    other.load_state_dict(model.state_dict())
    torch.testing.assert_close(model(x, graph), other(x / 2, graph))
