"""How well each class is told from the others."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class ClassScore:
    """How one class was predicted on the test nodes, in per cent; NaN where it has no meaning.

    Attributes:
        name: Of the class.
        precision: Of the nodes predicted as this class, those that are; NaN if there are none.
        recall: Of the nodes of this class, those predicted as it; NaN if there are none.
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
