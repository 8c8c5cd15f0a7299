"""What can be seen of a finished run on its data: how it smooths, where it errs, what it doubts."""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.explain.class_scores import ClassScore, class_scores
from akgnn.explain.reliability import ReliabilityBin, reliability_bins, reliability_gap
from akgnn.explain.signals import Signals, high_frequency_share, signals_of
from akgnn.explain.suspects import Suspect, suspects
from akgnn.models.akgnn import AKGNN
from akgnn.training.metrics import confusion_matrix


@dataclass(frozen=True)
class Insight:
    """What can be seen of a run.

    Attributes:
        signals: Whether edges join nodes that are alike.
        smoothing: The share of high-frequency energy in H^(0) … H^(K), from 0 to 1: how much each
            layer smooths; empty for a model without adaptive kernels.
        confusion: How often class i (row) of the test nodes was predicted as class j (column).
        classes: Scores of each class on the test nodes; empty where there are none.
        reliability: The test nodes by how sure the model is of them; empty where there are none.
        suspects: Labels that the model does not believe; training nodes last.
    """

    signals: Signals
    smoothing: tuple[float, ...]
    confusion: tuple[tuple[int, ...], ...]
    classes: tuple[ClassScore, ...]
    reliability: tuple[ReliabilityBin, ...]
    suspects: tuple[Suspect, ...]

    @property
    def num_test(self) -> int:
        """How many test nodes there are."""
        return sum(map(sum, self.confusion))

    @property
    def num_mistakes(self) -> int:
        """How many of them were taken for another class."""
        return self.num_test - sum(row[k] for k, row in enumerate(self.confusion))

    @property
    def calibration_gap(self) -> float:
        """The expected calibration error on the test nodes, in per cent."""
        return reliability_gap(self.reliability)

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {**asdict(self), "calibration_gap": self.calibration_gap}


@torch.no_grad()
def insight_of(model: nn.Module, data: NodeData, *, top: int = 10) -> Insight:
    """Look at a trained model.

    Args:
        model: In evaluation mode.
        data: The data that it was trained on.
        top: How many doubtful labels to list of nodes held out, and of training nodes.
    """
    logits: Tensor = model(data.x, data.graph)
    probability, nodes = logits.softmax(1), data.split.test
    y = data.y[nodes]
    table = confusion_matrix(logits[nodes].argmax(1), y, data.num_classes)
    has_test = nodes.numel() > 0
    return Insight(
        signals=signals_of(data),
        smoothing=_smoothing(model, data),
        confusion=tuple(map(tuple, table.tolist())),
        classes=tuple(class_scores(table, data.class_names)) if has_test else (),
        reliability=tuple(reliability_bins(probability[nodes], y)) if has_test else (),
        suspects=tuple(suspects(probability, data, top=top)),
    )


def _smoothing(model: nn.Module, data: NodeData) -> tuple[float, ...]:
    if not isinstance(model, AKGNN):
        return ()
    signals = model.signals(data.x, data.graph)
    return tuple(high_frequency_share(data.graph, signal).share for signal in signals)
