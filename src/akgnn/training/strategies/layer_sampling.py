"""FastGCN: the top layer's sum over neighbours is estimated from sampled nodes, in batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.data.node_data import NodeData
from akgnn.errors import SettingsError
from akgnn.hashing import Key
from akgnn.layers.dropout import DropoutKey
from akgnn.models.gcn import GCN, GCNConv
from akgnn.ops.dropout import Noise, hashed
from akgnn.settings import Settings, count
from akgnn.training.metrics import cross_entropy


@dataclass(frozen=True, kw_only=True)
class LayerSamplingSettings(Settings):
    """Settings of FastGCN.

    Attributes:
        batch_size: Training nodes in one step.
        sample_size: Nodes drawn to stand for the whole layer below.
        sample_from: Where they are drawn from: the `graph`, as in the paper, or the `neighbours` of
            the batch, as in its public code.
    """

    batch_size: int = count(20)
    sample_size: int = count(400)
    sample_from: Literal["graph", "neighbours"] = "graph"


class LayerSampling:
    """Importance sampling of a two-layer GCN's top layer.

    From "FastGCN: Fast Learning with Graph Convolutional Networks via Importance Sampling" (ICLR
    2018), in its transductive form: the layer on the features is exact, and

        Σ_u Â(v, u) h_u  ≈  1/t Σ_s Â(v, u_s) h_(u_s) / q(u_s),   q(u) ∝ ‖Â(:, u)‖²

    where u_1 … u_t are drawn from q, with repeats.

    The public code differs, and so does `sample_from="neighbours"`: q(u) ∝ ‖Â(:, u)‖, and the nodes
    are drawn without repeats among those with an entry in the rows of the batch, all of them if
    they are fewer than t. t and q stay those of the whole graph, so that in training the scores are
    larger than in evaluation, by about the number of nodes over t. Biases would not stand that, and
    the GCN of the public code has none.
    """

    def __init__(self, settings: LayerSamplingSettings | None = None) -> None:
        self.settings = settings or LayerSamplingSettings()

    def losses(self, model: nn.Module, data: NodeData, noise: Noise) -> Iterator[Tensor]:
        """One loss a batch of training nodes."""
        if not isinstance(model, GCN) or len(model.layers) != 2:
            raise SettingsError("Layer sampling is written for a GCN of two layers.")
        bottom, top = (cast(GCNConv, layer) for layer in model.layers)
        matrix = data.graph.renormalised
        q = importance(matrix, power=2 if self.settings.sample_from == "graph" else 1)
        train = data.split.train
        shuffled = train[
            torch.argsort(hashed(len(train), noise.key(DropoutKey.BATCHES), train.device))
        ]
        for number, batch in enumerate(shuffled.split(self.settings.batch_size)):
            rows = dense_rows(matrix, batch)
            sample = self._draw(q, rows, noise.key(DropoutKey.BATCH_NODES + number))
            # Other masks in every batch of the epoch.
            own = Noise(noise.key(DropoutKey.BATCH_SEED + number), noise.step)
            h = F.relu(bottom(model.drops[0](data.x, own), data.graph))
            h = model.drops[1](h, own)[sample]
            weights = rows[:, sample] / (self.settings.sample_size * q[sample])
            logits = top.shifted(weights @ top.linear(h))
            yield cross_entropy(logits, data.y[batch], data.class_weight)

    def _draw(self, q: Tensor, rows: Tensor, key: Key) -> Tensor:
        number = self.settings.sample_size
        if self.settings.sample_from == "graph":
            return draw(q, number, key)
        return draw_among(rows.any(0).nonzero().squeeze(1), q, number, key)


def importance(matrix: CSR, power: int = 2) -> Tensor:
    """q(u), proportional to a power of the norm of column u."""
    assert matrix.value is not None
    squares = matrix.value.square()
    norms = torch.zeros(matrix.shape[1], dtype=squares.dtype, device=matrix.device)
    norms.index_add_(0, matrix.pattern.col, squares)
    norms = norms ** (power / 2)
    return norms / norms.sum()


def draw(q: Tensor, number: int, key: Key) -> Tensor:
    """Nodes drawn from q with repeats, by the inverse of its distribution function."""
    return torch.searchsorted(q.double().cumsum(0), _even(number, key, q)).clamp_max(len(q) - 1)


def draw_among(nodes: Tensor, q: Tensor, number: int, key: Key) -> Tensor:
    """So many of these nodes, drawn by q without repeats; all where they are no more.

    The least of exponential waiting times with the rates q are such a draw.
    """
    if len(nodes) <= number:
        return nodes
    waiting = -(1 - _even(len(q), key, q)[nodes]).log() / q[nodes]
    return nodes[waiting.argsort()[:number]]


def dense_rows(matrix: CSR, rows: Tensor) -> Tensor:
    """The given rows with their zeros, shape (rows, columns)."""
    assert matrix.value is not None
    dense = torch.zeros(len(rows), matrix.shape[1], dtype=matrix.value.dtype, device=matrix.device)
    rowptr = matrix.pattern.rowptr.long()
    for index, row in enumerate(rows.tolist()):
        entries = slice(int(rowptr[row]), int(rowptr[row + 1]))
        dense[index, matrix.pattern.col[entries].long()] = matrix.value[entries]
    return dense


def _even(number: int, key: Key, like: Tensor) -> Tensor:
    """Numbers in [0, 1): 53 bits of the hash each."""
    return hashed(number, key, like.device).bitwise_and(2**53 - 1).double() / 2**53
