"""Splits of the nodes into training, validation and test sets, each with a fingerprint."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from akgnn.errors import DataError

# A class of fewer labelled nodes needs all of them to be learned.
_FEWEST_TO_SPARE = 5


@dataclass(frozen=True, eq=False)
class Split:
    """Three sets of nodes that do not overlap, unless the training nodes choose the epoch too.

    Attributes:
        name: How the sets came about, such as `public` or `random-20-per-class-seed-3`.
        train: Nodes whose labels are learned from, ascending.
        val: Nodes that choose the epoch, ascending.
        test: Nodes that are read once, ascending; may be empty.
        is_published: Whether others report results on these very sets. They are taken as they
            are, even where a class has no training node.
        chooses_on_train: Whether `val` is `train` once more, where labels are too few to spare.
    """

    name: str
    train: Tensor
    val: Tensor
    test: Tensor
    is_published: bool = False
    chooses_on_train: bool = False

    def __post_init__(self) -> None:
        for part in ("train", "val", "test"):
            nodes = getattr(self, part)
            if not isinstance(nodes, Tensor):
                kind = type(nodes).__name__
                raise DataError(f"The {part} nodes of a split must be a torch tensor, got {kind}.")
            if nodes.dim() != 1 or nodes.dtype != torch.int64:
                raise DataError(f"The {part} nodes of a split must be a list of int64 indices.")
            object.__setattr__(self, part, nodes.sort().values)
        if not self.train.numel():
            raise DataError("The training set is empty; at least one labelled node must be in it.")
        if not self.val.numel():
            raise DataError("The validation set is empty; it is needed to choose the epoch.")
        if self.chooses_on_train and not torch.equal(self.train, self.val):
            raise DataError("The training nodes are to choose the epoch, but val holds others.")
        learned = [self.train] if self.chooses_on_train else [self.train, self.val]
        nodes, times = torch.cat([*learned, self.test]).unique(return_counts=True)
        if bool((times > 1).any()):
            raise DataError(f"Node {int(nodes[times > 1][0])} is listed twice in the split.")

    @cached_property
    def fingerprint(self) -> str:
        """Eight hexadecimal digits that tell this split from any other."""
        digest = hashlib.sha256()
        for nodes in (self.train, self.val, self.test):
            array = nodes.cpu().numpy().astype("<i8")
            digest.update(len(array).to_bytes(8, "little") + array.tobytes())
        return digest.hexdigest()[:8]

    @property
    def label(self) -> str:
        """Name and fingerprint, as results print them."""
        return f"{self.name}:{self.fingerprint}"

    def to(self, device: torch.device | str) -> "Split":
        """The same split on another device."""
        train, val, test = (nodes.to(device) for nodes in (self.train, self.val, self.test))
        return replace(self, train=train, val=val, test=test)


def split_per_class(
    y: Tensor,
    *,
    per_class: int = 20,
    num_val: int = 500,
    num_test: int | None = 1000,
    seed: int = 0,
) -> Split:
    """Draw `per_class` training nodes from each class, then validation and test nodes.

    Args:
        y: Class of every node, below 0 where unknown; only labelled nodes are drawn.
        per_class: Training nodes of each class.
        num_val: Validation nodes.
        num_test: Test nodes; None takes all that are left.
        seed: Of the draw.
    """
    order = _shuffled(y, seed)
    train = torch.cat([_first(order, y, label, per_class) for label in _classes(y)])
    rest = order[~torch.isin(order, train)]
    needed = num_val + (num_test or 0)
    if len(rest) < needed:
        raise DataError(
            f"{per_class} nodes a class leave {len(rest)} labelled nodes, "
            f"but {needed} are asked for validation and test."
        )
    stop = len(rest) if num_test is None else needed
    name = f"random-{per_class}-per-class-seed-{seed}"
    return Split(name, train, rest[:num_val], rest[num_val:stop])


def split_by_fraction(
    y: Tensor, *, train: float = 0.6, val: float = 0.2, test: float | None = None, seed: int = 0
) -> Split:
    """Divide the labelled nodes by fractions, class by class.

    Args:
        y: Class of every node, below 0 where unknown; only labelled nodes are drawn.
        train: Share of the training nodes.
        val: Share of the validation nodes.
        test: Share of the test nodes; all that are left if not given.
        seed: Of the draw.
    """
    total = train + val + (test or 0)
    if min(train, val, test or 0) < 0 or total > 1 + 1e-9:
        raise DataError(f"Fractions must be at least 0 and add up to at most 1, got {total:g}.")
    order = _shuffled(y, seed)
    parts: list[list[Tensor]] = [[], [], []]
    for label in _classes(y):
        members = order[y[order] == label]
        first, second = round(train * len(members)), round((train + val) * len(members))
        third = len(members) if test is None else round(total * len(members))
        for part, nodes in zip(
            parts, (members[:first], members[first:second], members[second:third]), strict=True
        ):
            part.append(nodes)
    shares = [train, val, 1 - train - val if test is None else test]
    name = "random-" + "-".join(f"{share * 100:g}" for share in shares) + f"-seed-{seed}"
    return Split(name, torch.cat(parts[0]), torch.cat(parts[1]), torch.cat(parts[2]))


def split_by_folds(y: Tensor, *, fold: int, folds: int, seed: int = 0) -> Split:
    """Cut the labelled nodes into so many parts, class by class, and test on one of them.

    Of what is left every `folds`-th node of each class chooses the epoch, and the others train.
    Each labelled node is a test node of exactly one fold.

    Args:
        y: Class of every node, below 0 where unknown; only labelled nodes are drawn.
        fold: Which part tests, from 0 on.
        folds: How many parts there are.
        seed: Of the draw.
    """
    if folds < 2:
        raise DataError(f"There must be at least 2 folds, got {folds}.")
    if not 0 <= fold < folds:
        raise DataError(f"{folds} folds are numbered 0 to {folds - 1}, got {fold}.")
    order = _shuffled(y, seed)
    # Of two folds, three nodes may leave one, which could not both train and choose the epoch.
    least = 4 if folds == 2 else folds
    members = [order[y[order] == label] for label in _classes(y)]
    for label, nodes in zip(_classes(y), members, strict=True):
        if len(nodes) < least:
            raise DataError(
                f"Class {label} has {len(nodes)} labelled nodes, but {folds} folds need at least "
                f"{least}; take fewer folds or leave the class out."
            )
    # Class after class, so that each is spread evenly over the parts, and so are all together.
    lined_up = torch.cat(members)
    is_test = torch.arange(len(lined_up), device=y.device) % folds == fold
    rest = lined_up[~is_test]
    is_val = torch.arange(len(rest), device=y.device) % folds == folds - 1
    # So few that no place is the `folds`-th: the last one chooses.
    is_val[-1] |= not bool(is_val.any())
    name = f"fold-{fold}-of-{folds}-seed-{seed}"
    return Split(name, rest[~is_val], rest[is_val], lined_up[is_test])


def split_for_validation(y: Tensor, *, val: float = 0.1, seed: int = 0) -> Split:
    """Learn from all labelled nodes but a share of each class, which chooses the epoch.

    A class of at least five labelled nodes spares one or more of them, a smaller one none. Where
    that leaves no node to choose with, the training nodes do it. There are no test nodes.

    Args:
        y: Class of every node, below 0 where unknown.
        val: Share of the validation nodes; 0 lets the training nodes choose.
        seed: Of the draw.
    """
    if not 0 <= val < 1:
        raise DataError(f"The share of the validation nodes must be at least 0 and below 1: {val}.")
    order = _shuffled(y, seed)
    spared = []
    for label in _classes(y):
        members = order[y[order] == label]
        can_spare = val > 0 and len(members) >= _FEWEST_TO_SPARE
        number = min(max(1, round(val * len(members))), len(members) - 1) if can_spare else 0
        spared.append(members[:number])
    chosen = torch.cat(spared)
    train = order[~torch.isin(order, chosen)]
    nobody = train[:0]
    if not len(chosen):
        return Split("all-train", train, train, nobody, chooses_on_train=True)
    return Split(f"random-{val * 100:g}-validate-seed-{seed}", train, chosen, nobody)


def split_from_masks(name: str, train: Tensor, val: Tensor, test: Tensor, index: int) -> Split:
    """One of the splits that were published with a data set.

    Args:
        name: Of the data set, for messages.
        train: Whether each node trains, a column for each split.
        val: Whether it chooses the epoch.
        test: Whether it tests. Some sets share one column among several splits.
        index: Which of the splits.
    """
    masks = train, val, test
    number = max(mask.size(1) for mask in masks)
    if not 0 <= index < number:
        raise DataError(f"{name!r} has {number} published splits, 0 to {number - 1}; got {index}.")
    train, val, test = (mask[:, min(index, mask.size(1) - 1)].nonzero().view(-1) for mask in masks)
    label = "public" if number == 1 else f"public-{index}"
    return Split(label, train, val, test, is_published=True)


def _shuffled(y: Tensor, seed: int) -> Tensor:
    """The labelled nodes in a random order; NumPy's generator draws the same everywhere."""
    if seed < 0:
        raise DataError(f"The seed of a split must be at least 0, got {seed}.")
    labelled = np.flatnonzero(y.cpu().numpy() >= 0)
    if not len(labelled):
        raise DataError("No node has a label, so there is nothing to split.")
    return torch.from_numpy(np.random.default_rng(seed).permutation(labelled)).to(y.device)


def _classes(y: Tensor) -> list[int]:
    return sorted(set(y[y >= 0].tolist()))


def _first(order: Tensor, y: Tensor, label: int, number: int) -> Tensor:
    members = order[y[order] == label]
    if len(members) < number:
        raise DataError(
            f"Class {label} has {len(members)} labelled nodes, fewer than the {number} asked for."
        )
    return members[:number]
