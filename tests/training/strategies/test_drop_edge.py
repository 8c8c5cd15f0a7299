import torch

from akgnn.data.catalogue import load_dataset
from akgnn.models.gcn import GCN
from akgnn.ops.dropout import Noise
from akgnn.training.strategies.drop_edge import DropEdge, DropEdgeSettings
from akgnn.training.strategies.supervised import Supervised, training_loss

DATA = load_dataset("csbm:num_nodes=100")


def one_loss(strategy, step=0):
    model = GCN(DATA.num_features, 8, 4, dropout=0.0, generator=torch.Generator().manual_seed(0))
    (loss,) = strategy.losses(model, DATA, Noise(0, step))
    return loss


def test_keeping_all_edges_is_the_plain_loss():
    torch.testing.assert_close(
        one_loss(DropEdge(DropEdgeSettings(keep=1.0))), one_loss(Supervised())
    )


def test_the_reduced_graph_is_normalised_by_its_own_degrees():
    seen = []

    class Watch(torch.nn.Module):
        def forward(self, x, graph, noise):
            seen.append(graph)
            return torch.zeros(len(x), 4)

    next(DropEdge(DropEdgeSettings(keep=0.3)).losses(Watch(), DATA, Noise(0)))
    assert seen[0].num_edges == 2 * round(0.3 * DATA.graph.num_edges / 2)
    model = GCN(DATA.num_features, 8, 4, dropout=0.0)
    (loss,) = DropEdge(DropEdgeSettings(keep=0.3)).losses(model, DATA, Noise(0))
    matrix = seen[0].renormalised.to_dense()
    h = torch.relu(matrix @ DATA.x @ model.layers[0].linear.weight + model.layers[0].bias)
    logits = matrix @ h @ model.layers[1].linear.weight + model.layers[1].bias
    torch.testing.assert_close(loss, training_loss(logits, DATA))


def test_every_step_draws_anew():
    strategy = DropEdge()
    assert one_loss(strategy, 0) == one_loss(strategy, 0)
    assert one_loss(strategy, 0) != one_loss(strategy, 1)
