from dataclasses import replace

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


def test_classes_weigh_what_the_data_say_in_every_replica():
    data = load_dataset("csbm:num_nodes=100")
    weight = torch.tensor([0.5, 1.0, 2.0, 0.0])
    weighted, logits = replace(data, class_weight=weight), torch.randn(3, 100, 4)
    y = data.y[data.split.train]
    losses = -logits.log_softmax(2)[:, data.split.train, y] * weight[y]
    torch.testing.assert_close(training_loss(logits, weighted), losses.mean(1))
    torch.testing.assert_close(training_loss(logits[1], weighted), losses[1].mean())
