"""FastGCN: the top layer's sum over neighbours is estimated from sampled nodes, in batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

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
        sample_size: Nodes drawn, with repeats, to stand for the whole layer below.
    """

    batch_size: int = count(20)
    sample_size: int = count(400)


class LayerSampling:
    """Importance sampling of a two-layer GCN's top layer.

    From "FastGCN: Fast Learning with Graph Convolutional Networks via Importance Sampling" (ICLR
    2018), in its transductive form: the layer on the features is exact, and

        Σ_u Â(v, u) h_u  ≈  1/t Σ_s Â(v, u_s) h_(u_s) / q(u_s),   q(u) ∝ ‖Â(:, u)‖²

    where u_1 … u_t are drawn from q.
    """

    def __init__(self, settings: LayerSamplingSettings | None = None) -> None:
        self.settings = settings or LayerSamplingSettings()

    def losses(self, model: nn.Module, data: NodeData, noise: Noise) -> Iterator[Tensor]:
        """One loss a batch of training nodes."""
        if not isinstance(model, GCN) or len(model.layers) != 2:
            raise SettingsError("Layer sampling is written for a GCN of two layers.")
        bottom, top = (cast(GCNConv, layer) for layer in model.layers)
        matrix = data.graph.renormalised
        q = importance(matrix)
        train = data.split.train
        shuffled = train[
            torch.argsort(hashed(len(train), noise.key(DropoutKey.BATCHES), train.device))
        ]
        for number, batch in enumerate(shuffled.split(self.settings.batch_size)):
            sample = draw(q, self.settings.sample_size, noise.key(DropoutKey.BATCH_NODES + number))
            # Other masks in every batch of the epoch.
            own = Noise(noise.key(DropoutKey.BATCH_SEED + number), noise.step)
            h = F.relu(bottom(model.drops[0](data.x, own), data.graph))
            h = model.drops[1](h, own)[sample]
            logits = estimate_rows(matrix, batch, sample, q) @ top.linear(h) + top.bias
            yield cross_entropy(logits, data.y[batch], data.class_weight)


def importance(matrix: CSR) -> Tensor:
    """q(u), proportional to the squared norm of column u."""
    assert matrix.value is not None
    squares = matrix.value.square()
    norms = torch.zeros(matrix.shape[1], dtype=squares.dtype, device=matrix.device)
    norms.index_add_(0, matrix.pattern.col, squares)
    return norms / norms.sum()


def draw(q: Tensor, number: int, key: Key) -> Tensor:
    """Nodes drawn from q with repeats, by the inverse of its distribution function."""
    # 53 bits of the hash are an even number in [0, 1).
    even = hashed(number, key, q.device).bitwise_and(2**53 - 1).double() / 2**53
    return torch.searchsorted(q.double().cumsum(0), even).clamp_max(len(q) - 1)


def estimate_rows(matrix: CSR, rows: Tensor, sample: Tensor, q: Tensor) -> Tensor:
    """The weights Â(v, u_s) / (t q(u_s)) for the given rows v, shape (rows, sample)."""
    assert matrix.value is not None
    dense = torch.zeros(len(rows), matrix.shape[1], dtype=matrix.value.dtype, device=matrix.device)
    rowptr = matrix.pattern.rowptr.long()
    for index, row in enumerate(rows.tolist()):
        entries = slice(int(rowptr[row]), int(rowptr[row + 1]))
        dense[index, matrix.pattern.col[entries].long()] = matrix.value[entries]
    return dense[:, sample] / (len(sample) * q[sample])
