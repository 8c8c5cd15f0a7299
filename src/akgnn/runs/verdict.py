"""What to make of a result: beside naming one class throughout, and beside the columns alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from akgnn.data.node_data import NodeData
from akgnn.graph import Graph
from akgnn.runs.run import Run
from akgnn.training.metrics import accuracy

# Fewer epochs than this say nothing about whether a score moves.
_FEWEST_EPOCHS = 10
# Where the most frequent class has more than so many times its even share, or the rarest less than
# that part of it, accuracy alone hides how rare classes fare.
_UNBALANCED = 3.0


@dataclass(frozen=True)
class Verdict:
    """What a result is worth.

    Attributes:
        most_frequent: The class that most training and validation nodes have; training nodes alone
            are often drawn so that all classes are alike.
        test_most_frequent: Accuracy of naming it for every test node, in per cent.
        val_most_frequent: The same of the validation nodes.
        val_without_links: Validation accuracy of the same model on nodes without links; NaN where
            it was not asked for.
        notes: What to know and what to try, a sentence or two each.
    """

    most_frequent: str
    test_most_frequent: float
    val_most_frequent: float
    val_without_links: float
    notes: tuple[str, ...]


def verdict_of(runs: Sequence[Run], data: NodeData) -> Verdict:
    """What to make of one run, or of several that differ in their seed.

    The model is asked once more, without links, where the data are one's own tables.

    Args:
        runs: Runs that have finished, of one split.
        data: The data of that split.
    """
    split, y = data.split, data.y
    known = y[torch.cat([split.train, split.val])]
    most = int(torch.bincount(known, minlength=data.num_classes).argmax())
    always = torch.full_like(y, most)
    test, val = (accuracy(always[nodes], y[nodes]) for nodes in (split.test, split.val))
    without = math.nan
    if data.tables is not None and data.graph.num_edges and runs[0].sees_links:
        without = _without_links(runs[0], data)
    name = data.class_names[most]
    notes = [
        *_learning_notes(runs, name, test, val),
        *_link_notes(runs, without),
        *_balance_notes(data),
    ]
    return Verdict(name, test, val, without, tuple(notes))


@torch.no_grad()
def _without_links(run: Run, data: NodeData) -> float:
    data = run.plan.with_inputs(data).to("cpu")
    none = torch.empty(2, 0, dtype=torch.int64)
    alone = Graph.from_edge_index(none, num_nodes=data.graph.num_nodes)
    nodes = data.split.val
    return accuracy(run.model(data.x, alone)[nodes].argmax(1), data.y[nodes])


def _learning_notes(runs: Sequence[Run], name: str, test: float, val: float) -> list[str]:
    results = [run.result for run in runs]
    curves = [result.history.val_accuracy for result in results]
    if all(len(curve) >= _FEWEST_EPOCHS and len(set(curve)) == 1 for curve in curves):
        return [
            "The model did not learn: its validation score never moved. Check that the column of "
            "classes and the columns of features are the right ones, and try another learning "
            "rate."
        ]
    scores = [result.test_accuracy for result in results]
    found, usual = sum(scores) / len(scores), test
    if math.isnan(usual):
        found, usual = sum(result.val_accuracy for result in results) / len(results), val
    if found > usual:
        return []
    return [
        f"This is no better than always naming {name!r}, which is right for {usual:.1f} %: the "
        "model found nothing in the columns and links that tells the classes apart. Try "
        "`model='auto'`, other columns, or more labels."
    ]


def _link_notes(runs: Sequence[Run], without: float) -> list[str]:
    scores = [run.result.val_accuracy for run in runs]
    found = sum(scores) / len(scores)
    if math.isnan(without) or without < found:
        return []
    return [
        f"Links do not help: the same model scores {without:.1f} % on validation without any "
        f"({found:.1f} % with them). `model='mlp'` learns from the columns alone."
    ]


def _balance_notes(data: NodeData) -> list[str]:
    counts = torch.bincount(data.y[data.split.train], minlength=data.num_classes)
    even = len(data.split.train) / data.num_classes
    if int(counts.max()) <= _UNBALANCED * even and int(counts.min()) * _UNBALANCED >= even:
        return []
    return [
        "The classes are unbalanced: look at the balanced accuracy and macro F1 too. "
        "`class_weight='balanced'` makes every class weigh the same."
    ]
