import pytest
import torch
from torch import nn

from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split
from akgnn.errors import DataError
from akgnn.graph import Graph
from akgnn.models.akgnn import AKGNN
from akgnn.models.akgnn_deep import DeepAKGNN
from akgnn.ops.dropout import Noise
from akgnn.training.fit import fit, predict_logits
from akgnn.training.settings import TrainSettings
from akgnn.training.strategies.masked_labels import MaskedLabels, MaskedLabelsSettings


def communities(size=120, seed=0):
    """Two communities, features that say nothing, and labels that the links give away."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(size) % 2
    ends = torch.randint(0, size // 2, (2, 6 * size), generator=generator) * 2
    edge_index = ends + torch.randint(0, 2, (1, 6 * size), generator=generator)
    x = torch.randn(size, 3, generator=generator)
    order = torch.randperm(size, generator=generator)
    split = Split("s", order[: size // 2], order[size // 2 : 3 * size // 4], order[3 * size // 4 :])
    graph = Graph.from_edge_index(edge_index, num_nodes=size).symmetrised()
    return NodeData("communities", x, y, graph, split, ("a", "b"))


class Spy(nn.Module):
    """Remembers what it was shown."""

    def __init__(self):
        super().__init__()
        self.seen = []
        self.weight = nn.Parameter(torch.zeros(2))

    def forward(self, x, graph, noise=None):
        self.seen.append(x.clone())
        return self.weight.expand(len(x), 2)


def test_no_node_that_learns_sees_its_label():
    data = communities().with_label_inputs()
    model, strategy = Spy(), MaskedLabels(MaskedLabelsSettings(hidden=0.4))
    shares = set()
    for step in range(20):
        (loss,) = strategy.losses(model, data, Noise(3, step))
        loss = loss.detach()
        shown = model.seen[-1][:, -2:].sum(1).nonzero()[:, 0]
        hidden = data.split.train[~torch.isin(data.split.train, shown)]
        assert torch.isin(shown, data.split.train).all()
        shares.add(len(hidden) / len(data.split.train))
        # Of equal scores the loss is log 2, whatever nodes it is of.
        assert loss.item() == pytest.approx(0.6931, abs=1e-4)
    assert len(shares) > 3
    assert 0.25 < sum(shares) / len(shares) < 0.55


def test_labels_reach_others_over_links():
    data = communities()
    accuracy = {}
    for wanted in (False, True):
        given = data.with_label_inputs(wanted)
        model = AKGNN(
            given.num_features, 16, 2, kernel="signed", num_layers=2, readout="mean",
            generator=torch.Generator().manual_seed(0),
        )  # fmt: skip
        settings = TrainSettings(epochs=60, patience=60, stop_on="accuracy")
        strategy = MaskedLabels() if wanted else None
        accuracy[wanted] = fit(model, given, settings, strategy=strategy).test_accuracy
    assert accuracy[True] > 95
    assert accuracy[True] > accuracy[False] + 5


def test_strategy_and_data_must_go_together():
    data = communities()
    model = AKGNN(3, 8, 2)
    with pytest.raises(DataError, match="MaskedLabels wants the labels"):
        fit(model, data, strategy=MaskedLabels())
    with pytest.raises(DataError, match="which Supervised does not hide"):
        fit(AKGNN(5, 8, 2), data.with_label_inputs())


def test_another_split_brings_its_own_labels():
    data = communities().with_label_inputs()
    split = Split("t", data.split.test, data.split.val, data.split.train)
    other = data.with_split(split)
    assert other.x[:, -2:].sum(1).nonzero()[:, 0].tolist() == split.train.tolist()
    assert torch.equal(other.with_label_inputs(False).x, communities().x)


def test_labels_of_other_nodes_are_refused():
    data = communities().with_label_inputs()
    x = data.x.clone()
    x[data.split.test[0], -1] = 1
    with pytest.raises(DataError, match="not the labels of the training nodes"):
        NodeData("d", x, data.y, data.graph, data.split, ("a", "b"), has_label_inputs=True)


def test_nodes_are_predicted_as_if_their_label_was_not_known():
    data = communities().with_label_inputs()
    model = AKGNN(5, 8, 2, generator=torch.Generator().manual_seed(0)).eval()
    logits = predict_logits(model, data)
    flipped = data.y.clone()
    node = int(data.split.train[0])
    flipped[node] = 1 - flipped[node]
    bare = data.with_label_inputs(False)
    other = NodeData("d", bare.x, flipped, data.graph, data.split, ("a", "b")).with_label_inputs()
    assert torch.equal(predict_logits(model, other)[node], logits[node])
    with torch.no_grad():
        test = data.split.test
        assert torch.equal(model(data.x, data.graph)[test], logits[test])


@pytest.mark.gpu
@pytest.mark.parametrize("network", [AKGNN, DeepAKGNN])
def test_gpu_learns_as_the_cpu_does(network):
    data, settings = communities().with_label_inputs(), TrainSettings(epochs=30)
    histories = []
    for place in ("cpu", "cuda"):
        generator = torch.Generator().manual_seed(0)
        model = network(data.num_features, 8, 2, num_layers=2, generator=generator).to(place)
        result = fit(model, data.to(place), settings, strategy=MaskedLabels())
        histories.append(torch.tensor(result.history.val_loss))
        logits = predict_logits(model.eval(), data.to(place))
        assert logits.shape == (120, 2)
    torch.testing.assert_close(histories[1], histories[0], rtol=1e-2, atol=1e-3)
