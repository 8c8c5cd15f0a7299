"""Ensembles: several trained models as one, whose probability is the mean of theirs."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.data.node_data import NodeData
from akgnn.errors import DataError, SettingsError
from akgnn.graph import Graph
from akgnn.training.calibration import DOUBTFUL_NODES, Calibrated, Calibration
from akgnn.training.fit import predict_logits, scores_of
from akgnn.training.metrics import accuracy, cross_entropy
from akgnn.training.result import FitResult


class Ensemble(nn.Module):
    """Trained models as one, whose probabilities are the mean of theirs.

        p = Σ w_i p_i

    where p_i are the calibrated probabilities of model i of N and w_i its share of the vote, 1/N if
    not given. The class scores of the ensemble are log p, so that whatever takes a model takes it
    too.

    Args:
        models: The members; all with the same classes.
        calibrations: How the scores of each become probabilities, such as `FitResult.calibration`.
        weights: The share of each in a vote, chosen by validation nodes; they add up to 1. All
            alike if not given.

    Raises:
        SettingsError: There is no member, or one lacks its calibration or its share.
    """

    def __init__(
        self,
        models: Sequence[nn.Module],
        calibrations: Sequence[Calibration],
        weights: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        if not models or len(models) != len(calibrations):
            raise SettingsError(
                "An ensemble has at least one member, and a calibration for each: got "
                f"{len(models)} models and {len(calibrations)} calibrations."
            )
        self.is_vote = weights is not None
        weights = [1 / len(models)] * len(models) if weights is None else weights
        if len(weights) != len(models) or not all(0 < weight <= 1 for weight in weights):
            raise SettingsError(
                f"The {len(models)} members of an ensemble have a share above 0 each, got "
                f"{list(weights)}."
            )
        self.members = nn.ModuleList(map(Calibrated, models, calibrations))
        self.weights = tuple(weights)

    def forward(self, x: Tensor | CSR, graph: Graph) -> Tensor:
        """Log-probabilities, shape (nodes, classes)."""
        voices = (
            member(x, graph).log_softmax(-1) + math.log(weight)
            for member, weight in zip(self.members, self.weights, strict=True)
        )
        total: Tensor = reduce(_added, voices)
        return total


def _added(one: Tensor, other: Tensor) -> Tensor:
    if one.size(-1) != other.size(-1):
        raise DataError(
            "Members of an ensemble must have the same classes, but one has "
            f"{one.size(-1)} and another {other.size(-1)}."
        )
    return torch.logaddexp(one, other)


def first_member(model: nn.Module) -> nn.Module:
    """The first model of an ensemble, whose kernels stand for all; any other model itself."""
    if not isinstance(model, Ensemble):
        return model
    first = model.members[0]
    assert isinstance(first, Calibrated)
    return first.model


@torch.no_grad()
def ensemble_result(model: Ensemble, data: NodeData, results: Sequence[FitResult]) -> FitResult:
    """What an ensemble came to; epochs, λ and history are those of its first member.

    Args:
        model: In evaluation mode, on the device of the data.
        data: What its members were trained on.
        results: What each member came to.
    """
    logits, split = predict_logits(model, data), data.split
    # The mean of sure voices that differ is less sure than it could be, so it is calibrated again.
    shown = {"test": logits[split.test], "val": logits[split.val]}
    doubtful = DOUBTFUL_NODES if model.is_vote else 0.0
    scores, calibration = scores_of(shown, data, doubtful=doubtful)
    scores["val_loss"] = float(cross_entropy(logits[split.val], data.y[split.val]))
    scores["train_accuracy"] = accuracy(logits[split.train].argmax(1), data.y[split.train])
    seconds = sum(result.seconds for result in results)
    return replace(results[0], scores=scores, seconds=seconds, calibration=calibration)
