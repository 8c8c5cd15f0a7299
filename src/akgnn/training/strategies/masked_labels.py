"""Masked labels: training nodes see the labels of others, and predict their own."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.layers.dropout import DropoutKey
from akgnn.ops.dropout import Noise, kept_nodes
from akgnn.settings import Settings, rate
from akgnn.training.strategies.supervised import loss_at, scores_at


@dataclass(frozen=True, kw_only=True)
class MaskedLabelsSettings(Settings):
    """Settings of masked labels.

    Attributes:
        hidden: Share of the training nodes whose label an epoch hides and learns to predict.
    """

    hidden: float = rate(0.5)


class MaskedLabels:
    """Cross-entropy of training nodes whose label is hidden, the others' being among the features.

    From "Masked Label Prediction: Unified Message Passing Model for Semi-Supervised Classification"
    (IJCAI 2021). Each epoch draws the nodes anew, and no node sees its own label. Once trained, all
    training nodes show theirs, so that what is learned from columns and what spreads from labels
    over edges are one model.
    """

    takes_labels: ClassVar[bool] = True

    def __init__(self, settings: MaskedLabelsSettings | None = None) -> None:
        self.settings = settings or MaskedLabelsSettings()

    def losses(self, model: nn.Module, data: NodeData, noise: Noise) -> Iterator[Tensor]:
        """One loss."""
        train, key = data.split.train, noise.key(DropoutKey.HIDDEN_LABELS)
        shown = kept_nodes(data.graph.num_nodes, self.settings.hidden, key, train.device)[train]
        # Of one node or two it may be that none is drawn.
        nodes = train if bool(shown.all()) else train[~shown]
        scores = scores_at(model, data.x_hiding(nodes), data.graph, nodes, noise)
        yield loss_at(scores, data, nodes)
