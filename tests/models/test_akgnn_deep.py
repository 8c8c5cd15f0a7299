import pytest
import torch

from akgnn.data.transforms import sparse_if_sparse
from akgnn.errors import DataError
from akgnn.graph import Graph
from akgnn.layers.norms import NORMS
from akgnn.models.akgnn_deep import DeepAKGNN
from akgnn.ops.dropout import Noise
from oracles import dense, normalised, paper_kernel, random_graph


def build(**options):
    generator = torch.Generator().manual_seed(0)
    model = DeepAKGNN(6, 4, 3, generator=generator, num_layers=3, **options)
    with torch.no_grad():
        for k, layer in enumerate(model.layers):
            layer.phi.fill_(0.3 + 0.5 * k)
        # Biases too must have left their start.
        for name, tensor in model.named_parameters():
            if name.startswith("norms") or name.endswith("bias"):
                tensor.normal_(generator=generator)
    return model.double().eval()


def by_the_formula(model, x, matrix):
    h = x
    if model.settings.input_transform:
        h = x @ model.input_transform.weight + model.input_transform.bias
    outputs = []
    for k, lambda_max in enumerate(model.lambda_max.tolist()):
        transform = model.transforms[k]
        mixed = paper_kernel(matrix, lambda_max) @ (h @ transform.weight)
        if model.settings.residual:
            mixed = mixed + h @ model.residuals[k].weight + model.residuals[k].bias
        else:
            mixed = mixed + transform.bias
        h = normalised(model.norms[k], model.settings.norm, mixed).relu()
        outputs.append(h)
    return outputs


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("input_transform", [True, False])
@pytest.mark.parametrize("readout", ["sum", "concat", "last"])
def test_equals_the_formula(norm, residual, input_transform, readout):
    graph = random_graph(12, weighted=True)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = build(norm=norm, residual=residual, input_transform=input_transform, readout=readout)
    outputs = by_the_formula(model, x, dense(graph))
    together = {
        "sum": lambda: sum(outputs),
        "concat": lambda: torch.cat(outputs, 1),
        "last": lambda: outputs[-1],
    }[readout]()
    classifier = model.classifier[0]
    torch.testing.assert_close(model.embed(x, graph), together)
    torch.testing.assert_close(model(x, graph), together @ classifier.weight + classifier.bias)
    first, *later = model.signals(x, graph)
    assert first.shape == (graph.num_nodes, 4 if input_transform else 6)
    for signal, expected in zip(later, outputs, strict=True):
        torch.testing.assert_close(signal, expected)


def test_the_kernel_of_gcn_is_one_of_its_kernels():
    graph = random_graph(12)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = build(residual=False, input_transform=False, readout="last", learn_lambda=False)
    for layer in model.layers:
        layer.reset_parameters()
    h = x
    for transform in model.transforms:
        h = (paper_kernel(dense(graph), 2.0) @ (h @ transform.weight) + transform.bias).relu()
    torch.testing.assert_close(model.embed(x, graph), h)
    assert not any(layer.phi.requires_grad for layer in model.layers)


@pytest.mark.parametrize("input_transform", [True, False])
def test_sparse_features_give_what_dense_ones_give(input_transform):
    graph = random_graph(40)
    x = torch.randn(graph.num_nodes, 6) * (torch.rand(graph.num_nodes, 6) < 0.05)
    sparse = sparse_if_sparse(x)
    assert not isinstance(sparse, torch.Tensor)
    model = build(input_transform=input_transform, norm="layer").float()
    torch.testing.assert_close(model(sparse, graph), model(x, graph))
    torch.testing.assert_close(model.signals(sparse, graph)[0], model.signals(x, graph)[0])


def test_masks_are_those_of_the_seed_and_step():
    graph = random_graph(30)
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = build(input_dropout=0.3, layer_dropout=0.5, norm="layer").train()
    first, again, other = (model(x, graph, Noise(1, step)) for step in (4, 4, 5))
    assert torch.equal(first, again)
    assert not torch.allclose(first, other)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("normalisation", ["sym", "row", "directed"])
def test_every_parameter_gets_a_gradient(norm, normalisation):
    graph = random_graph(30, directed=normalisation == "directed")
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    model = build(norm=norm, normalisation=normalisation, groups=2).train()
    model(x, graph, Noise(0, 0)).square().sum().backward()
    missing = [name for name, each in model.named_parameters() if each.grad is None]
    assert not missing


def test_graphs_without_edges_and_of_one_node():
    x = torch.randn(1, 6, dtype=torch.float64)
    graph = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.int64), num_nodes=1)
    for norm in ("none", "layer"):
        assert build(norm=norm).train()(x, graph, Noise(0, 0)).isfinite().all()
    model = build(norm="batch")
    assert model(x, graph).isfinite().all()
    with pytest.raises(DataError, match="at least two nodes"):
        model.train()(x, graph, Noise(0, 0))


@pytest.mark.gpu
@pytest.mark.parametrize("norm", NORMS)
def test_gpu_gives_what_the_cpu_gives(norm):
    graph = random_graph(11)
    x = torch.rand(graph.num_nodes, 6)
    model = DeepAKGNN(6, 16, 3, num_layers=3, norm=norm, groups=4)
    here = model(x, graph, Noise(0))
    there = model.cuda()(x.cuda(), graph.to("cuda"), Noise(0))
    torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-4)


def test_classic_initialisation_draws_residuals_and_classifier_as_torch_does():
    model = DeepAKGNN(6, 4, 3, num_layers=3, initialisation="classic")
    assert {each.initialisation for each in model.transforms} == {"glorot_normal"}
    assert {each.initialisation for each in [*model.residuals, *model.classifier]} == {"uniform"}
