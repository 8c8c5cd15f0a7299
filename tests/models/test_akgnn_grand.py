import pytest
import torch

from akgnn.data.transforms import sparse_if_sparse
from akgnn.layers.norms import BatchNorm
from akgnn.models import akgnn_grand
from akgnn.models.akgnn_grand import AKGNNGrand
from akgnn.ops.dropout import Noise
from oracles import dense, paper_kernel, random_graph, renormalised

READOUTS = ["sum", "mean", "max", "concat", "last"]
NO_DROPOUT = {"input_dropout": 0.0, "transform_dropout": 0.0, "layer_dropout": 0.0}


def build(**options):
    generator = torch.Generator().manual_seed(0)
    model = AKGNNGrand(6, 5, 3, generator=generator, node_dropout=0.4, **options)
    with torch.no_grad():
        for k, layer in enumerate(model.layers):
            layer.phi.fill_(0.3 + 0.5 * k)
    return model.double().eval()


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
def test_equals_the_formula(readout, batch_norm, transform_bias):
    graph = random_graph(12, weighted=True)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = build(
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
    model = build(readout=readout, batch_norm=batch_norm, **NO_DROPOUT)
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
        model = build(**{**NO_DROPOUT, **options})
        assert not model.train()._commutes(Noise(0))
        assert model.eval()._commutes(None)
    assert not build(readout="max")._commutes(None)


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("layer_dropout", [0.0, 0.5])
def test_channels_a_part_at_a_time_change_nothing(readout, layer_dropout, monkeypatch):
    graph = random_graph(18)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    options = {**NO_DROPOUT, "input_dropout": 0.5, "layer_dropout": layer_dropout}
    model = build(readout=readout, **options).train()

    def scores_and_gradients():
        model.zero_grad()
        out = model(x, graph, Noise(0))
        out.square().sum().backward()
        return out, [parameter.grad for parameter in model.parameters()]

    whole = scores_and_gradients()
    monkeypatch.setattr(akgnn_grand, "_NUMBERS_AT_ONCE", 1)
    monkeypatch.setattr(akgnn_grand, "_FEWEST_CHANNELS", 4)
    torch.testing.assert_close(whole, scores_and_gradients())


def test_at_lambda_2_it_is_grands_random_propagation():
    graph = random_graph(14)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = AKGNNGrand(6, 5, 3, readout="mean", node_dropout=0.5, **NO_DROPOUT)
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
def test_every_parameter_gets_a_gradient(batch_norm, input_dropout):
    graph = random_graph(15)
    options = {**NO_DROPOUT, "input_dropout": input_dropout, "batch_norm": batch_norm}
    model = AKGNNGrand(6, 16, 3, node_dropout=0.5, readout="mean", **options)
    weights = torch.rand(graph.num_nodes, 3)
    (model(torch.rand(graph.num_nodes, 6), graph, Noise(0)) * weights).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
    assert all(layer.phi.grad != 0 for layer in model.layers)


def test_sparse_and_dense_features_train_alike():
    graph = random_graph(16)
    x = torch.rand(graph.num_nodes, 40) * (torch.rand(graph.num_nodes, 40) < 0.05)
    model = AKGNNGrand(40, 5, 3, node_dropout=0.5, batch_norm=True)
    sparse = sparse_if_sparse(x)
    assert not isinstance(sparse, torch.Tensor)
    noise = Noise(3, 1)
    torch.testing.assert_close(model(sparse, graph, noise), model(x, graph, noise))


@pytest.mark.parametrize("readout", ["sum", "max"])
def test_signals_are_what_the_readout_reads(readout):
    graph = random_graph(11)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = build(num_layers=3, readout=readout)
    first, *others = model.signals(x, graph)
    assert len(others) == 3
    assert torch.equal(model.layers[0](first, graph), others[0])
    # The bias and the non-linearity follow the readout; a linear one follows the matrix.
    read = model.readout.reduce([first, *others])
    read = read if readout == "sum" else read @ model.transforms[0].weight
    expected = torch.relu(read + model.transforms[0].bias)
    torch.testing.assert_close(model.embed(x, graph), expected)
