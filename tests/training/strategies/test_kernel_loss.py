import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.models.akgnn import AKGNN
from akgnn.models.gcn import GCN
from akgnn.training.strategies.kernel_loss import held, kernel_loss, learning_phi

DATA = load_dataset("csbm:num_nodes=60")


def model_of(kind=AKGNN, **settings):
    generator = torch.Generator().manual_seed(0)
    return kind(DATA.num_features, 8, DATA.num_classes, generator=generator, **settings)


def test_phi_is_found_where_it_learns():
    model = model_of(num_layers=3)
    assert learning_phi(model) == [layer.phi for layer in model.layers]
    assert learning_phi(model_of(learn_lambda=False)) == []
    assert learning_phi(model_of(GCN)) == []


def test_only_phi_gets_a_gradient_and_no_mask_is_drawn():
    model = model_of()
    loss, again = (kernel_loss(model, DATA) for _ in range(2))
    assert loss == again
    loss.backward()
    learned = {name for name, parameter in model.named_parameters() if parameter.grad is not None}
    assert learned == {f"layers.{k}.phi" for k in range(5)}
    assert model.training
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_parameters_are_let_go_after_an_error():
    parameters = list(model_of().parameters())

    def fail():
        assert not any(parameter.requires_grad for parameter in parameters)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), held(parameters):
        fail()
    assert all(parameter.requires_grad for parameter in parameters)
