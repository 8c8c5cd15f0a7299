"""GAugO: every epoch trains on a graph that is sampled from learned edge probabilities."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.data.node_data import NodeData
from akgnn.data.transforms import dense_features
from akgnn.errors import SettingsError
from akgnn.hashing import Key
from akgnn.layers.dropout import DropoutKey
from akgnn.models.gaugo import GAugO
from akgnn.models.gcn import GCN, GCNConv
from akgnn.ops.dropout import Noise
from akgnn.ops.pairs import AllPairs, ListedPairs, Matrix, Pairs
from akgnn.ops.sampling import straight_through_bernoulli
from akgnn.settings import Settings, non_negative, positive, share, whole
from akgnn.training.strategies.supervised import loss_of, training_loss

# Instead of a maximum of 0, where the edge predictor gives nothing but zeros.
_SMALLEST = 1e-12


@dataclass(frozen=True, kw_only=True)
class EdgeAugmentationSettings(Settings):
    """Settings of GAugO.

    Attributes:
        alpha: Share of the learned probabilities; the rest is the graph as it is.
        beta: Weight of the edge predictor's own loss.
        temperature: Temperature of the relaxed sample that the gradient is taken of.
        edge_epochs: Steps that train the edge predictor alone, in the first epoch.
        class_epochs: Steps that train the classifier alone, in the first epoch.
        candidates: Pairs that may become edges: 0 for all; or the edges and, of each node, so many
            others of the most similar features.
    """

    alpha: float = share(1.0)
    beta: float = non_negative(0.8)
    temperature: float = positive(1.2)
    edge_epochs: int = whole(160)
    class_epochs: int = whole(30)
    candidates: int = whole(0)


class EdgeAugmentation:
    """Cross-entropy on a sampled graph + β times the edge predictor's loss.

    From "Data Augmentation for Graph Neural Networks" (AAAI 2021), its GAug-O. With M = Z Zᵀ the
    scores of the edge predictor and A the adjacency, a graph is drawn edge by edge from

        P = α M / max(M) + (1 - α) A

    and the classifier's gradient goes through the draw into M. Both nets are trained alone first;
    those steps are part of the first epoch, so that nothing has to be remembered between epochs.

    M is taken before the sigmoid of the edge predictor's loss. After it, balanced as that loss is,
    half of all pairs would be drawn, which on Cora is a mean degree of 1353, and nothing learned.

    Candidates are chosen by the features, not by M: they stay the same all through a run, where the
    best pairs under M would have to be found anew among N² every epoch.
    """

    def __init__(self, settings: EdgeAugmentationSettings | None = None) -> None:
        self.settings = settings or EdgeAugmentationSettings()
        self._found: tuple[NodeData, Pairs] | None = None

    def losses(self, model: nn.Module, data: NodeData, noise: Noise) -> Iterator[Tensor]:
        """In the first epoch the losses of both nets alone; in every epoch the joint one."""
        if not isinstance(model, GAugO):
            raise SettingsError("Edge augmentation trains the two nets of GAugO.")
        pairs = self._pairs(data)
        if noise.step == 0:
            yield from self._pretraining(model, data, pairs, noise)
        yield self._joint(model, data, pairs, noise)

    def _pretraining(
        self, model: GAugO, data: NodeData, pairs: Pairs, noise: Noise
    ) -> Iterator[Tensor]:
        for step in range(self.settings.edge_epochs):
            z = model.encoder(data.x, data.graph)
            yield edge_loss(z, pairs, pairs.inner(z), noise.key(DropoutKey.PRETRAINING + step))
        for step in range(self.settings.class_epochs):
            # Other masks in every step of the epoch.
            own = Noise(noise.key(DropoutKey.PRETRAINING + step), noise.step)
            yield loss_of(model, data, data.graph, own)

    def _joint(self, model: GAugO, data: NodeData, pairs: Pairs, noise: Noise) -> Tensor:
        settings = self.settings
        z = model.encoder(data.x, data.graph)
        inner = pairs.inner(z)
        p = edge_probabilities(z, pairs, inner, settings.alpha)
        sample = straight_through_bernoulli(
            p, settings.temperature, noise.key(DropoutKey.SAMPLED_EDGES)
        )
        logits = classify(model.classifier, data.x, pairs.symmetric(sample), noise)
        own_loss = edge_loss(z, pairs, inner, noise.key(DropoutKey.OTHER_PAIRS))
        return training_loss(logits, data) + settings.beta * own_loss

    def _pairs(self, data: NodeData) -> Pairs:
        """The pairs that may become edges, found once for the data of a run."""
        if self._found is None or self._found[0] is not data:
            self._found = data, find_pairs(data, self.settings.candidates)
        return self._found[1]


def find_pairs(data: NodeData, candidates: int) -> Pairs:
    """All pairs for 0 candidates; otherwise the edges and each node's most similar others."""
    if candidates == 0:
        return AllPairs(data.graph)
    x = dense_features(data).x
    assert isinstance(x, Tensor)
    return ListedPairs.most_similar(data.graph, x, candidates)


def edge_probabilities(z: Tensor, pairs: Pairs, inner: Tensor, alpha: float) -> Tensor:
    """P = α M / max(M) + (1 - α) A of each pair, with M = Z Zᵀ for Z ≥ 0."""
    # By Cauchy's inequality the largest entry of Z Zᵀ lies on its diagonal.
    largest = z.square().sum(1).max().clamp_min(_SMALLEST)
    p = inner * (alpha / largest)
    if alpha == 1:
        return p
    return p.index_add(0, pairs.edges, p.new_full(pairs.edges.shape, 1 - alpha))


def edge_loss(z: Tensor, pairs: Pairs, inner: Tensor, key: Key) -> Tensor:
    """Cross-entropy between sigmoid(Z Zᵀ) and A + I, with edges and others of equal weight.

    The mean over all N² entries, an entry 1 weighted (N² - E) / E for the E ones there are, and
    all times N² / (2 (N² - E)), as in "Variational Graph Auto-Encoders".
    """
    entries = len(z) ** 2
    ones = 2 * len(pairs.edges) + len(z)
    # A complete graph has no zeros to weigh against.
    zeros = max(entries - ones, 1)
    edges, own = inner.index_select(0, pairs.edges), z.square().sum(1)

    def excess(scores: Tensor) -> Tensor:
        """What ones cost more than the zeros that they were counted as."""
        return (zeros / ones * F.softplus(-scores) - F.softplus(scores)).sum()

    total = pairs.softplus_sum(z, inner, key) + 2 * excess(edges) + excess(own)
    return total / (2 * zeros)


def classify(classifier: GCN, x: Tensor | CSR, adjacency: Matrix, noise: Noise) -> Tensor:
    """The GCN's logits with D^-1/2 (A + I) D^-1/2 of another adjacency, whose entries may learn."""
    drops = classifier.drops
    first, *later = (cast(GCNConv, layer) for layer in classifier.layers)
    h = first.linear(drops[0](x, noise))
    scale = (adjacency @ torch.ones_like(h[:, :1]) + 1).rsqrt()

    def propagate(h: Tensor) -> Tensor:
        h = scale * h
        return scale * (adjacency @ h + h)

    h = first.shifted(propagate(h))
    for layer, drop in zip(later, drops[1:], strict=True):
        h = layer.shifted(propagate(layer.linear(drop(F.relu(h), noise))))
    return h
