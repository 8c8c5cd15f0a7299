"""What can be seen of a finished run on its data: how it smooths, where it errs, what it doubts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.explain.nodes import NodeFacts, facts_of, neighbours_of
from akgnn.explain.signals import Signals, high_frequency_share, signals_of
from akgnn.models.adaptive_network import AdaptiveNetwork
from akgnn.training.calibration import UNCALIBRATED, Calibration
from akgnn.training.ensemble import first_member
from akgnn.training.fit import predict_logits
from akgnn.training.metrics import CALIBRATION_BINS, confusion_matrix, share_interval


@dataclass(frozen=True)
class ClassScore:
    """How one class was predicted on the test nodes, in per cent; NaN where it has no meaning.

    Attributes:
        name: Name of the class.
        precision: Share of right ones among the nodes predicted as this class; NaN without any.
        recall: Share of this class's nodes that are predicted as it; NaN if there are none.
        f1: The harmonic mean of both; NaN where the class is neither present nor predicted.
        support: Nodes of this class.
    """

    name: str
    precision: float
    recall: float
    f1: float
    support: int


def class_scores(table: Tensor, names: tuple[str, ...]) -> list[ClassScore]:
    """Precision, recall and F1 of every class from the confusion matrix."""
    counts = table.double()
    hits, wanted, found = counts.diag(), counts.sum(1), counts.sum(0)
    precision, recall, f1 = 100 * hits / found, 100 * hits / wanted, 200 * hits / (wanted + found)
    return [
        ClassScore(name, float(precision[k]), float(recall[k]), float(f1[k]), int(wanted[k]))
        for k, name in enumerate(names)
    ]


@dataclass(frozen=True)
class ReliabilityBin:
    """The nodes whose predicted class has a probability between two bounds.

    Attributes:
        low: Lower bound, which belongs to the bin before.
        high: Upper bound, included.
        count: How many nodes.
        confidence: Mean probability of the predicted class, in per cent; NaN without nodes.
        accuracy: Share of nodes whose class was predicted, in per cent; NaN without nodes.
    """

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float

    @property
    def ci95(self) -> tuple[float, float]:
        """The 95 % interval of the accuracy that so many nodes leave, in per cent."""
        return share_interval(self.accuracy, self.count)


def reliability_bins(
    probability: Tensor, y: Tensor, *, bins: int = CALIBRATION_BINS
) -> list[ReliabilityBin]:
    """Nodes by how sure the model is of them, in bins of equal width from 0 to 1."""
    sure, predicted = probability.double().max(1)
    place = (sure * bins).ceil().long().sub(1).clamp(0, bins - 1)
    count = torch.bincount(place, minlength=bins)
    hits = torch.bincount(place, (predicted == y).double(), minlength=bins)
    total = torch.bincount(place, sure, minlength=bins)
    return [
        ReliabilityBin(
            k / bins,
            (k + 1) / bins,
            int(count[k]),
            100 * float(total[k] / count[k]),
            100 * float(hits[k] / count[k]),
        )
        for k in range(bins)
    ]


def reliability_gap(bins: Sequence[ReliabilityBin]) -> float:
    """The expected calibration error: |accuracy - confidence|, averaged over nodes, in per cent.

    NaN where there are no nodes.
    """
    nodes = sum(part.count for part in bins)
    gaps = (part.count * abs(part.accuracy - part.confidence) for part in bins if part.count)
    return sum(gaps) / nodes if nodes else float("nan")


@dataclass(frozen=True)
class Suspect(NodeFacts):
    """A labelled node that the model takes for another class.

    The model has seen the labels of training nodes and gives in to them, so one that it still does
    not believe stands out.

    Attributes:
        label: Name of the class that the data give it.
        probability: Probability of its own label.
        predicted_probability: Probability of the predicted class.
        num_neighbours: Neighbours whose label is known.
        neighbours_agree: Those of them that have the node's label.
        neighbours_predicted: Those of them that have the predicted class.
    """

    label: str
    probability: float
    predicted_probability: float
    num_neighbours: int
    neighbours_agree: int
    neighbours_predicted: int


def suspects(probability: Tensor, data: NodeData, *, top: int = 10) -> list[Suspect]:
    """The labelled nodes most likely mislabelled.

    First up to `top` nodes whose labels were not learned from, then up to `top` training nodes;
    each part with the label that has the least probability in front.
    """
    is_train = torch.zeros(len(data.y), dtype=torch.bool, device=data.y.device)
    is_train[data.split.train] = True
    sure, predicted = probability.max(1)
    own = probability.gather(1, data.y.clamp(min=0)[:, None])[:, 0]
    differs = (data.y >= 0) & (predicted != data.y)
    found = []
    for part in (differs & ~is_train, differs & is_train):
        nodes = part.nonzero()[:, 0]
        # Probabilities that round to 0 are told apart by how sure the model is of another class.
        nodes = nodes[sure[nodes].argsort(descending=True, stable=True)]
        nodes = nodes[own[nodes].argsort(stable=True)][:top]
        found += [_suspect(node, probability[node], data) for node in nodes.tolist()]
    return found


def _suspect(node: int, probability: Tensor, data: NodeData) -> Suspect:
    label, predicted = int(data.y[node]), int(probability.argmax())
    around = data.y[neighbours_of(data.graph, node)]
    return Suspect(
        **vars(facts_of(node, predicted, data)),
        probability=float(probability[label]),
        predicted_probability=float(probability[predicted]),
        num_neighbours=int((around >= 0).sum()),
        neighbours_agree=int((around == label).sum()),
        neighbours_predicted=int((around == predicted).sum()),
    )


@dataclass(frozen=True)
class Insight:
    """What can be seen of a run.

    Attributes:
        signals: Whether edges join nodes that are alike.
        smoothing: The share of high-frequency energy in H^(0) … H^(K), from 0 to 1: how much each
            layer smooths, of an ensemble its first member's; empty for a model without adaptive
            kernels.
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
        bins = [{**asdict(part), "ci95": list(part.ci95)} for part in self.reliability]
        return {**asdict(self), "reliability": bins, "calibration_gap": self.calibration_gap}


@torch.no_grad()
def insight_of(
    model: nn.Module, data: NodeData, *, calibration: Calibration = UNCALIBRATED, top: int = 10
) -> Insight:
    """Look at a trained model.

    Args:
        model: In evaluation mode.
        data: The data that it was trained on.
        calibration: How class scores become probabilities.
        top: How many doubtful labels to list of nodes held out, and of training nodes.
    """
    logits = predict_logits(model, data)
    probability, nodes = calibration.scaled(logits).softmax(1), data.split.test
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
    model = first_member(model)
    if not isinstance(model, AdaptiveNetwork):
        return ()
    signals = model.signals(data.x, data.graph)
    return tuple(high_frequency_share(data.graph, signal).share for signal in signals)
