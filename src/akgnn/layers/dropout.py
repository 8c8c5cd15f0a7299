"""Dropout as layers: values, or whole nodes, are dropped by a counter."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.hashing import Key
from akgnn.ops.dropout import Noise, check_rate, dropout, dropout_entries, kept_nodes
from akgnn.ops.relu_dropout import relu_dropout

Features = TypeVar("Features", Tensor, CSR)


class DropoutKey:
    """The names of everything that is drawn at random in training, and the numbers behind them.

    A mask is a hash of (seed, step, number, node, channel); see `akgnn.ops.dropout`. The number
    tells the draws of one step apart. **No number here ever changes**: a run that is resumed, or
    trained again from its seed, has to draw the same masks as before. A new draw gets a new number.

    Names may share a number where nothing uses both: two models, or two strategies. Names of one
    model or strategy never meet. A name that is counted on, as in `DropoutKey.LAYER + k`, has room
    for as many as its settings allow. This is no `Enum`, which would make equal numbers one name.
    """

    # AKGNN, in both orders: up to 1000 layers, and as many in the classifier.
    INPUT: Final = 0
    TRANSFORM: Final = 1
    NODES: Final = 2
    LAYER: Final = 1_000
    CLASSIFIER: Final = 1_000_000

    # The baselines: what enters layer k; in JKNet the classifier is the layer after the last.
    LAYER_INPUT: Final = 0
    # What follows two layers: APPNP's step k, and what enters GPRGNN's propagation.
    PROPAGATION: Final = 2
    # The attention of GAT's layer k, after the inputs of both.
    ATTENTION: Final = 2
    # The neighbours that GraphSAGE's layer k draws, after the inputs of both.
    NEIGHBOURS: Final = 2
    # Baselines in blocks: the attention of block k, after the features and what enters each block.
    BLOCK_ATTENTION: Final = 2_000

    # Strategies, beyond the numbers of all models.
    DROP_EDGE: Final = 10_000_000
    # Layer sampling: the order of the batches, and the nodes that batch k draws.
    BATCHES: Final = 11_000_000
    BATCH_NODES: Final = 12_000_000
    # Layer sampling: the seed of batch k, of which all masks of that batch are drawn.
    BATCH_SEED: Final = 0
    # Virtual adversarial training: the order of candidate nodes, and where perturbations begin.
    NODE_ORDER: Final = 13_000_000
    DIRECTIONS: Final = 14_000_000
    # Consistency and virtual adversarial training: the seed of pass k.
    PASS_SEED: Final = 15_000_000
    # Edge augmentation: the sampled graph, the other pairs of the loss, and step k before training.
    SAMPLED_EDGES: Final = 15_000_000
    OTHER_PAIRS: Final = 16_000_000
    PRETRAINING: Final = 17_000_000
    # Masked labels: the training nodes that do not see their label.
    HIDDEN_LABELS: Final = 18_000_000


class _Drop(nn.Module, ABC):
    """Drops part of a dense or sparse matrix whose rows are nodes.

    Args:
        rate: Probability of dropping, at least 0 and below 1.
        key: A number in `DropoutKey` that no other dropout of the model has; it sets its masks
            apart from theirs.
    """

    def __init__(self, rate: float, key: int) -> None:
        super().__init__()
        check_rate("rate", rate)
        self.rate = rate
        self.key = key

    def forward(self, x: Features, noise: Noise | None = None) -> Features:
        """Drop by the seed and step of `noise`.

        Without `noise`, training draws one from torch's global generator and evaluation gives the
        mean.
        """
        if self.rate == 0:
            return x
        noise = noise_in(self, noise)
        return self._mean(x) if noise is None else self._dropped(x, noise.key(self.key))

    @abstractmethod
    def _mean(self, x: Features) -> Features: ...

    @abstractmethod
    def _dropped(self, x: Features, key: Key) -> Features: ...

    def extra_repr(self) -> str:
        """The rate, for `print(model)`."""
        return f"{self.rate}"


class Dropout(_Drop):
    """Drops values, and scales the others up to keep the mean."""

    def _mean(self, x: Features) -> Features:
        return x

    def of_relu(self, x: Tensor, noise: Noise | None = None) -> Tensor:
        """What `forward` makes of relu(x), in less time."""
        noise = noise_in(self, noise)
        if noise is None or self.rate == 0:
            return F.relu(x)
        return relu_dropout(x, self.rate, noise.key(self.key))

    def _dropped(self, x: Features, key: Key) -> Features:
        if isinstance(x, CSR):
            return CSR(x.pattern, dropout_entries(x, self.rate, key))
        if isinstance(key, Tensor) and x.dim() == 2:
            # Features that all replicas share: each drops its own.
            x = x.expand(len(key), -1, -1)
        return dropout(x, self.rate, key)


class NodeDropout(_Drop):
    """Drops nodes: each row is kept whole or set to 0.

    GRAND's DropNode ("Graph Random Neural Networks for Semi-Supervised Learning on Graphs",
    NeurIPS 2020). Unlike `Dropout` it does not scale up what it keeps; instead evaluation
    multiplies all rows by 1 - rate, their mean in training.
    """

    def _mean(self, x: Features) -> Features:
        return _scaled(x, 1 - self.rate)

    def _dropped(self, x: Features, key: Key) -> Features:
        return _scaled(x, kept_nodes(x.shape[-2], self.rate, key, x.device))


def _scaled(x: Features, scale: Tensor | float) -> Features:
    """The rows of `x` multiplied by one number, or by one each."""
    if not isinstance(x, CSR):
        return x * (scale.unsqueeze(-1) if isinstance(scale, Tensor) else scale)
    value = torch.ones(x.num_entries, device=x.device) if x.value is None else x.value
    return CSR(
        x.pattern, value * (scale[..., x.pattern.row] if isinstance(scale, Tensor) else scale)
    )


def noise_in(module: nn.Module, noise: Noise | None) -> Noise | None:
    """The noise of one forward pass: the given one; in training one is drawn if none is given."""
    return Noise.drawn() if noise is None and module.training else noise


def mask_keys(drops: Sequence[Dropout], noise: Noise | None) -> list[Key] | None:
    """The keys of the masks of several dropouts of one rate; None where nothing is dropped."""
    if noise is None or drops[0].rate == 0:
        return None
    return noise.keys([drop.key for drop in drops])


def input_dropouts(rate: float, number: int) -> nn.ModuleList:
    """The dropouts of what enters so many layers of a baseline."""
    return nn.ModuleList(Dropout(rate, DropoutKey.LAYER_INPUT + k) for k in range(number))
