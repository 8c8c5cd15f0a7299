import pytest
import torch

from akgnn.csr import CSR
from akgnn.data.transforms import rows_to_1
from akgnn.errors import DataError
from akgnn.layers.norms import BatchNorm, LayerNorm, UnitLength, rows_to_max


def both():
    ours, theirs = BatchNorm(5), torch.nn.BatchNorm1d(5)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter)
    ours.load_state_dict(theirs.state_dict())
    return ours, theirs


def test_it_is_pytorchs_in_training_and_outside():
    ours, theirs = both()
    for _ in range(3):
        h = torch.randn(20, 5) * 3 + 1
        assert torch.equal(ours(h), theirs(h))
    assert all(torch.equal(t, ours.state_dict()[name]) for name, t in theirs.state_dict().items())
    ours.eval(), theirs.eval()
    assert torch.equal(ours(h), theirs(h))
    scale, shift = ours.fixed
    torch.testing.assert_close(scale * h + shift, theirs(h))


def test_each_replica_is_normalised_over_its_own_nodes():
    h = torch.randn(2, 20, 5) * torch.tensor([1.0, 10.0]).view(2, 1, 1)
    norm = BatchNorm(5)
    norm.weight = torch.nn.Parameter(torch.ones(2, 5))
    norm.bias = torch.nn.Parameter(torch.zeros(2, 5))
    norm.running_mean, norm.running_var = torch.zeros(2, 5), torch.ones(2, 5)
    out = norm(h)
    torch.testing.assert_close(out.mean(1), torch.zeros(2, 5), atol=1e-6, rtol=0)
    torch.testing.assert_close(out.var(1, unbiased=False), torch.ones(2, 5), rtol=1e-3, atol=0)
    torch.testing.assert_close(norm.running_mean, 0.1 * h.mean(1))


def test_one_node_has_no_spread_to_train_with():
    norm = BatchNorm(5)
    with pytest.raises(DataError, match="at least two nodes"):
        norm(torch.randn(1, 5))
    assert norm.eval()(torch.randn(1, 5)).shape == (1, 5)


def test_layer_norm_is_pytorchs_and_each_replica_has_its_own():
    h = torch.randn(2, 20, 5) * 3 + 1
    alone = [torch.nn.LayerNorm(5), torch.nn.LayerNorm(5)]
    for norm in alone:
        torch.nn.init.normal_(norm.weight), torch.nn.init.normal_(norm.bias)
    ours = LayerNorm(5)
    ours.load_state_dict(alone[0].state_dict())
    assert torch.equal(ours(h[0]), alone[0](h[0]))
    ours.weight = torch.nn.Parameter(torch.stack([norm.weight for norm in alone]))
    ours.bias = torch.nn.Parameter(torch.stack([norm.bias for norm in alone]))
    expected = torch.stack([norm(part) for norm, part in zip(alone, h, strict=True)])
    torch.testing.assert_close(ours(h), expected)


def test_signals_of_every_node_and_replica_have_length_1():
    h = torch.randn(2, 6, 3)
    expected = torch.stack([row / row.norm() for row in h.view(12, 3)]).view(2, 6, 3)
    torch.testing.assert_close(UnitLength(3)(h), expected)


def test_a_node_of_zeros_stays_and_does_not_drown_other_gradients():
    h = torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
    out = UnitLength(2)(h)
    torch.testing.assert_close(out.detach(), torch.tensor([[0.6, 0.8], [0.0, 0.0]]))
    (grad,) = torch.autograd.grad(out[:, 0].sum(), h)
    torch.testing.assert_close(grad, torch.tensor([[0.128, -0.096], [1.0, 0.0]]))


def test_words_are_0_and_1_again_after_their_rows_were_divided_by_their_sum():
    rowptr, col = torch.tensor([0, 2, 2, 5]), torch.tensor([0, 3, 1, 2, 3])
    words = CSR.from_arrays(rowptr, col, None, (3, 4))
    assert torch.equal(rows_to_max(rows_to_1(words)).to_dense(), words.to_dense())
    assert torch.equal(rows_to_max(rows_to_1(words).to_dense()), words.to_dense())
    assert rows_to_max(words) is words


def test_rows_are_divided_by_their_largest_size():
    x = torch.tensor([[1.0, -4.0], [0.0, 0.0], [3.0, 1.0]])
    expected = torch.tensor([[0.25, -1.0], [0.0, 0.0], [1.0, 1 / 3]])
    torch.testing.assert_close(rows_to_max(x), expected)
    sparse = CSR.from_arrays(
        torch.tensor([0, 2, 2, 4]),
        torch.tensor([0, 1, 0, 1]),
        torch.tensor([1.0, -4.0, 3.0, 1.0]),
        (3, 2),
    )
    torch.testing.assert_close(rows_to_max(sparse).to_dense(), expected)
