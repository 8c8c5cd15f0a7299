import torch

from akgnn.data.catalogue import load_dataset
from akgnn.models.gcn import GCN
from akgnn.ops.dropout import Noise
from akgnn.training.strategies.supervised import Supervised, training_loss


def test_one_loss_on_the_training_nodes():
    data = load_dataset("csbm:num_nodes=100")
    model, noise = GCN(data.num_features, 8, data.num_classes), Noise(1, 2)
    (loss,) = Supervised().losses(model, data, noise)
    logits = model(data.x, data.graph, noise)
    picked = logits.log_softmax(1)[data.split.train, data.y[data.split.train]]
    torch.testing.assert_close(loss, -picked.mean())
    torch.testing.assert_close(training_loss(logits, data), loss)
