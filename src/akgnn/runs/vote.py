"""Votes: models that were tried on the same split, each with a share of what they say together."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from akgnn.codec import from_json
from akgnn.runs.plan import RunPlan

# What every model has of the vote before any node is seen, in nodes.
_PRIOR = 1.0
# Who has less does not vote: it would cost a pass and change little.
_LEAST_WEIGHT = 0.05
# The shares hardly move after so many steps.
_STEPS = 200


@dataclass(frozen=True)
class Vote:
    """A model that votes.

    Attributes:
        plan: What it is.
        weight: Its share, above 0 and up to 1.

    Raises:
        ValueError: The share is out of its range.
    """

    plan: RunPlan
    weight: float

    def __post_init__(self) -> None:
        if not 0 < self.weight <= 1:
            raise ValueError(f"a vote must be above 0 and at most 1, got {self.weight}")

    @property
    def name(self) -> str:
        """Its model and preset."""
        return f"{self.plan.run.model} ({self.plan.run.preset})"

    def to_dict(self) -> dict[str, Any]:
        """As `run.json` keeps it."""
        return {"weight": self.weight, "settings": self.plan.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Vote":
        """The vote that `to_dict` gave."""
        return cls(
            RunPlan.from_dict(values["settings"]), from_json(float, values["weight"], "weight")
        )


def shares_by_name(votes: Sequence[Vote]) -> dict[str, float]:
    """The share of each model and preset, of all its seeds together, in the order of the votes."""
    shares: dict[str, float] = {}
    for vote in votes:
        shares[vote.name] = shares.get(vote.name, 0.0) + vote.weight
    return shares


def votes_in(content: Mapping[str, Any]) -> tuple[Vote, ...]:
    """The votes that the content of a `run.json` has; none of a single model.

    Raises:
        ValueError: They are damaged, or do not add up to 1.
    """
    votes = tuple(
        Vote.from_dict(each)
        for each in from_json(list[dict[str, Any]], content.get("votes", []), "votes")
    )
    if votes and not math.isclose(sum(vote.weight for vote in votes), 1, abs_tol=1e-6):
        raise ValueError("the votes do not add up to 1")
    return votes


def vote_weights(voices: Sequence[Tensor], y: Tensor) -> list[float]:
    """The share of each model at which validation nodes are likeliest, 0 of those that add little.

    Shares w maximise Σ_i log Σ_m w_m p_m(y_i) + Σ_m log w_m, by expectation maximisation: the
    second sum, a node for each model, keeps few nodes from trusting a single one. What has less
    than a twentieth then does not vote.

    Args:
        voices: Log-probabilities of these nodes by each model, shape (nodes, classes).
        y: Their classes.
    """
    likelihood = torch.stack(
        [voice.double().gather(1, y.unsqueeze(1)).squeeze(1) for voice in voices], dim=1
    )
    # Only ratios between models matter.
    likelihood = (likelihood - likelihood.max(1, keepdim=True).values).exp()
    weights = torch.full((len(voices),), 1 / len(voices), dtype=torch.float64)
    for _ in range(_STEPS):
        shares = weights * likelihood
        weights = (shares / shares.sum(1, keepdim=True)).sum(0) + _PRIOR
        weights /= weights.sum()
    # The best of a dozen even ones votes too.
    least = min(_LEAST_WEIGHT, float(weights.max()))
    weights = torch.where(weights < least, 0, weights)
    shares_of: list[float] = (weights / weights.sum()).tolist()
    return shares_of
