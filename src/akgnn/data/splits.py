"""Splits of the nodes into training, validation and test sets, each with a fingerprint.

Where a split is drawn, `y` is the class of every node, below 0 where unknown; only nodes with a
class are drawn, and the seed decides which.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from akgnn.errors import DataError

# A class of fewer labelled nodes needs all of them to be learned.
_FEWEST_TO_SPARE = 5


@dataclass(frozen=True, eq=False)
class SeenNodes:
    """Nodes that train or choose the epoch, each once.

    Attributes:
        nodes: The nodes, ascending.
        train: Where among them the training nodes stand.
        val: Where the validation nodes stand.
    """

    nodes: Tensor
    train: Tensor
    val: Tensor


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
    def seen(self) -> "SeenNodes":
        """The nodes whose labels training looks at."""
        nodes, position = torch.unique(torch.cat([self.train, self.val]), return_inverse=True)
        train, val = position.tensor_split([len(self.train)])
        return SeenNodes(nodes, train, val)

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
    """Draw training nodes from each class, then validation and test nodes from all that are left.

    Where `num_test` is None, all that are left in the end are test nodes.
    """
    order = _shuffled(y, seed)
    members = _by_class(order, y)
    for label, nodes in members.items():
        if len(nodes) < per_class:
            raise DataError(
                f"Class {label} has {len(nodes)} labelled nodes, "
                f"fewer than the {per_class} asked for."
            )
    train = torch.cat([nodes[:per_class] for nodes in members.values()])
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
    """Divide the labelled nodes by shares, class by class; the rest test if `test` is None."""
    total = train + val + (test or 0)
    if min(train, val, test or 0) < 0 or total > 1 + 1e-9:
        raise DataError(f"Fractions must be at least 0 and add up to at most 1, got {total:g}.")
    parts = []
    for nodes in _by_class(_shuffled(y, seed), y).values():
        first, second = round(train * len(nodes)), round((train + val) * len(nodes))
        third = len(nodes) if test is None else round(total * len(nodes))
        parts.append((nodes[:first], nodes[first:second], nodes[second:third]))
    shares = [train, val, 1 - train - val if test is None else test]
    name = "random-" + "-".join(f"{share * 100:g}" for share in shares) + f"-seed-{seed}"
    learn, choose, check = (torch.cat(part) for part in zip(*parts, strict=True))
    return Split(name, learn, choose, check)


def split_by_folds(y: Tensor, *, fold: int, folds: int, seed: int = 0) -> Split:
    """Cut the labelled nodes into so many parts, class by class, and test on one of them.

    Of what is left every `folds`-th node of each class chooses the epoch, and the others train.
    Each labelled node is a test node of exactly one fold; they count from 0.
    """
    if folds < 2:
        raise DataError(f"There must be at least 2 folds, got {folds}.")
    if not 0 <= fold < folds:
        raise DataError(f"{folds} folds are numbered 0 to {folds - 1}, got {fold}.")
    # Of two folds, three nodes may leave one, which could not both train and choose the epoch.
    least = 4 if folds == 2 else folds
    members = _by_class(_shuffled(y, seed), y)
    for label, nodes in members.items():
        if len(nodes) < least:
            raise DataError(
                f"Class {label} has {len(nodes)} labelled nodes, but {folds} folds need at least "
                f"{least}; take fewer folds or leave the class out."
            )
    # Class after class, so that each is spread evenly over the parts, and so are all together.
    lined_up = torch.cat(list(members.values()))
    is_test = torch.arange(len(lined_up), device=y.device) % folds == fold
    rest = lined_up[~is_test]
    is_val = torch.arange(len(rest), device=y.device) % folds == folds - 1
    # Of so few nodes none is the `folds`-th: the last one chooses.
    is_val[-1] |= not bool(is_val.any())
    name = f"fold-{fold}-of-{folds}-seed-{seed}"
    return Split(name, rest[~is_val], rest[is_val], lined_up[is_test])


def split_for_validation(y: Tensor, *, val: float = 0.1, seed: int = 0) -> Split:
    """Learn from all labelled nodes but the share `val` of each class, which chooses the epoch.

    A class of at least five labelled nodes spares one or more of them, a smaller one none. Where
    that leaves no node to choose with, the training nodes do it, and with a share of 0 too. There
    are no test nodes.
    """
    if not 0 <= val < 1:
        raise DataError(f"The share of the validation nodes must be at least 0 and below 1: {val}.")
    order = _shuffled(y, seed)
    spared = []
    for nodes in _by_class(order, y).values():
        can_spare = val > 0 and len(nodes) >= _FEWEST_TO_SPARE
        number = min(max(1, round(val * len(nodes))), len(nodes) - 1) if can_spare else 0
        spared.append(nodes[:number])
    chosen = torch.cat(spared)
    train = order[~torch.isin(order, chosen)]
    nobody = train[:0]
    if not len(chosen):
        return Split("all-train", train, train, nobody, chooses_on_train=True)
    return Split(f"random-{val * 100:g}-validate-seed-{seed}", train, chosen, nobody)


def split_from_masks(name: str, train: Tensor, val: Tensor, test: Tensor, index: int) -> Split:
    """One of the splits that were published with a data set, whose name stands in messages.

    The masks have a column for each split; some data sets share one column among several.
    """
    masks = train, val, test
    number = max(mask.size(1) for mask in masks)
    if not 0 <= index < number:
        raise DataError(f"{name!r} has {number} published splits, 0 to {number - 1}; got {index}.")
    train, val, test = (mask[:, min(index, mask.size(1) - 1)].nonzero().view(-1) for mask in masks)
    label = "public" if number == 1 else f"public-{index}"
    return Split(label, train, val, test, is_published=True)


def split_from_pyg(name: str, data: Any, index: int) -> Split | None:
    """The published split in the masks of a PyG `Data`; None where it has no masks of its nodes."""
    masks = [getattr(data, f"{part}_mask", None) for part in ("train", "val", "test")]
    nodes = len(data.y)
    if not all(isinstance(mask, Tensor) and len(mask) == nodes for mask in masks):
        return None
    train, val, test = (mask.view(nodes, -1) for mask in masks if mask is not None)
    return split_from_masks(name, train, val, test, index)


def _shuffled(y: Tensor, seed: int) -> Tensor:
    """The labelled nodes in a random order; NumPy's generator draws the same everywhere."""
    if seed < 0:
        raise DataError(f"The seed of a split must be at least 0, got {seed}.")
    labelled = np.flatnonzero(y.cpu().numpy() >= 0)
    if not len(labelled):
        raise DataError("No node has a label, so there is nothing to split.")
    return torch.from_numpy(np.random.default_rng(seed).permutation(labelled)).to(y.device)


def _by_class(order: Tensor, y: Tensor) -> dict[int, Tensor]:
    """The nodes of each class, in the order given."""
    return {label: order[y[order] == label] for label in sorted(set(y[y >= 0].tolist()))}
