"""Gradient boosting: trees on a table in which the graph has become columns; no network.

The columns of a node are its features, those of its neighbours averaged once and again, and its
degree. What that is worth beside a network, studies measure (`akgnn.experiments.boosting`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from akgnn.csr import CSR
from akgnn.errors import DataError, MissingExtraError
from akgnn.graph import Graph
from akgnn.ops.adaptive import neighbour_mean
from akgnn.settings import Settings, count, whole

GRADIENT_BOOSTING = "gradient-boosting"
"""The name of the model."""

Table = NDArray[np.float32]
# With more features than this, principal directions of them are tried too.
_WIDE = 300
# Numbers in the largest table of all features; beyond it only their directions are tried.
_MOST_NUMBERS = 50_000_000
# Learning rates and leaves that validation chooses from.
_TRIED = ((0.1, 8), (0.1, 31), (0.05, 8))
# Few training nodes ask for smaller leaves than scikit-learn's own 20.
_LARGEST_LEAF, _SHARE_OF_LEAF = 20, 20
# A quarter of scikit-learn's own: on many columns that is as good, and more than twice as fast.
_BINS = 63
# Class scores of classes that no training node has.
_NEVER = -30.0


@dataclass(frozen=True, kw_only=True)
class BoostingSettings(Settings):
    """Settings of gradient boosting; learning rate and leaves are chosen on validation.

    Attributes:
        hops: How many times features are averaged over neighbours, each a set of columns more.
        directions: How many principal directions stand for more than 300 features, where
            validation prefers them to the features themselves or those would be too many.
        rounds: The most rounds; ten without a lower validation loss end them before.
    """

    hops: int = whole(2)
    directions: int = count(50, most=10_000)
    rounds: int = count(300, most=100_000)


@dataclass(frozen=True)
class Task:
    """What is to be learned: the classes of nodes, and how validation judges.

    Attributes:
        y: Class of every node.
        num_classes: Number of classes.
        train: The nodes to learn from.
        val: The nodes that choose the rounds, the table and the setting.
        score: The score of class scores and classes, the higher the better.
        is_balanced: Whether all classes weigh alike.
        seed: Seed of all that is drawn.
    """

    y: Tensor
    num_classes: int
    train: Tensor
    val: Tensor
    score: Callable[[Tensor, Tensor], float]
    is_balanced: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Boosted:
    """What was fitted: class scores of every node, what validation chose, and the rounds of it."""

    logits: Tensor
    chosen: str
    rounds: int


def boost(settings: BoostingSettings, x: Tensor | CSR, graph: Graph, task: Task) -> Boosted:
    """Fit trees, by the table and the setting that validation chooses, and score every node.

    The table is chosen first, with one setting, and then the setting: all of both would take twice
    as long.

    Raises:
        MissingExtraError: scikit-learn is not installed.
        DataError: The training nodes are all of one class.
    """
    if task.y[task.train].unique().numel() < 2:
        raise DataError("Gradient boosting needs training nodes of two classes or more.")
    tables = tables_of(settings, x, graph, task.seed)
    first, *others = _TRIED
    tried = [_Attempt(name, table, *first, settings.rounds, task) for name, table in tables.items()]
    best = max(tried, key=lambda attempt: attempt.score)
    tried = [best, *(_Attempt(best.name, best.table, *o, settings.rounds, task) for o in others)]
    best = max(tried, key=lambda attempt: attempt.score)
    return Boosted(best.logits(best.table), best.chosen, int(best.model.n_iter_))


def tables_of(
    settings: BoostingSettings, x: Tensor | CSR, graph: Graph, seed: int = 0
) -> dict[str, Table]:
    """The tables that validation chooses from, by what they are called."""
    nodes, features = x.shape
    tables = {}
    is_wide = features > _WIDE
    if not is_wide or nodes * features * (settings.hops + 1) <= _MOST_NUMBERS:
        dense = x.to_dense() if isinstance(x, CSR) else x.float()
        tables["all features"] = _columns(dense, graph, settings.hops)
    if is_wide:
        directions = _directions(x, settings.directions, seed)
        name = f"{directions.size(1)} directions"
        tables[name] = _columns(directions, graph, settings.hops)
    return tables


def _columns(h: Tensor, graph: Graph, hops: int) -> Table:
    """Signals, their averages over neighbours, and the degree."""
    parts = [h]
    for _ in range(hops):
        parts.append(neighbour_mean(graph, parts[-1]))
    columns: Table = torch.cat([*parts, graph.degree.to(h.dtype).unsqueeze(1)], dim=1).numpy()
    return columns


def _directions(x: Tensor | CSR, number: int, seed: int) -> Tensor:
    """Features along their principal directions; averages of these are those of averages."""
    from_sklearn = _sklearn().decomposition
    matrix = x.to_scipy() if isinstance(x, CSR) else x.numpy()
    number = min(number, min(matrix.shape) - 1)
    # Features that are all 0 have no variance to share out.
    with np.errstate(invalid="ignore"):
        found = from_sklearn.TruncatedSVD(max(1, number), random_state=seed).fit_transform(matrix)
    return torch.from_numpy(found).float()


class _Attempt:
    """Trees fitted to a table with one setting, and their score on validation."""

    def __init__(
        self, name: str, table: Table, rate: float, leaves: int, rounds: int, task: Task
    ) -> None:
        self.name, self.table, self.task = name, table, task
        self.chosen = f"{name}, learning rate {rate:g}, {leaves} leaves"
        y, train = task.y.numpy(), task.train.numpy()
        # Classes without a training node cannot be judged.
        val = task.val.numpy()[np.isin(y[task.val.numpy()], y[train])]
        self.model = _sklearn().ensemble.HistGradientBoostingClassifier(
            learning_rate=rate,
            max_leaf_nodes=leaves,
            max_iter=rounds,
            max_bins=_BINS,
            min_samples_leaf=max(1, min(_LARGEST_LEAF, len(train) // _SHARE_OF_LEAF)),
            early_stopping=len(val) > 0,
            class_weight="balanced" if task.is_balanced else None,
            random_state=task.seed,
        )
        seen = {"X_val": table[val], "y_val": y[val]} if len(val) else {}
        self.model.fit(table[train], y[train], **seen)
        self.score = task.score(self.logits(table[task.val.numpy()]), task.y[task.val])

    def logits(self, table: Table) -> Tensor:
        """Class scores of rows, shape (rows, classes); their softmax is the trees' probability."""
        scores = torch.from_numpy(self.model.decision_function(table)).float()
        if scores.dim() == 1:
            # Of two classes there is one score, that of the second over the first.
            scores = torch.stack([torch.zeros_like(scores), scores], dim=1)
        logits = torch.full((len(table), self.task.num_classes), _NEVER)
        logits[:, torch.from_numpy(self.model.classes_)] = scores
        return logits


def _sklearn() -> Any:
    try:
        import sklearn.decomposition
        import sklearn.ensemble
    except ImportError as error:
        raise MissingExtraError("Gradient boosting", "sklearn") from error
    return sklearn
