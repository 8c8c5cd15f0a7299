"""The parts that a graph is cut into: the rows of some nodes each, with all that is known of them.

`cut_in_memory` says in a few lines what parts are. A folder of parts holds the same arrays.

Nodes are numbered anew, part after part; within a part they keep the order of their original ids.
The entries of a row keep that order too, so that a sum over neighbours adds up the same numbers in
the same order however the graph is cut.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from akgnn.arrays import describe
from akgnn.codec import to_json
from akgnn.csr import CSR, Pattern, index_dtype
from akgnn.data.node_data import NodeData
from akgnn.data.tables.recipe import FeatureRecipe
from akgnn.errors import DataError
from akgnn.files import json_text
from akgnn.text import printable

Rows = tuple[Tensor, Tensor, Tensor | None]
"""Sparse rows: `rowptr`, `col`, and the values, or None where all are 1."""

# Of the facts, what says where the data come from and not what they are.
_PROVENANCE = ("name", "source", "content", "recipe")


@dataclass(frozen=True, eq=False)
class PartSplit:
    """Which rows of a part train, choose the epoch and test; any of them may be none.

    Attributes:
        name: Name of the split of the whole graph.
        train: Rows, counted from the part's first, ascending.
        val: Likewise.
        test: Likewise.
    """

    name: str
    train: Tensor
    val: Tensor
    test: Tensor


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of some nodes, and all that is known of them.

    Attributes:
        index: Which part it is, from 0 on.
        ids: Original ids of its nodes, int64, ascending.
        rowptr: Row i holds the entries `rowptr[i]` to `rowptr[i + 1] - 1`, int64.
        col: New ids of the neighbours, in the order of their original ids; int32 where the ids of
            all nodes fit, else int64.
        value: Weights of the edges, or None where all are 1.
        degree: Degrees, as `Graph.degree` has them.
        x: Features of its nodes.
        y: Classes of its nodes, -1 where unknown.
        split: Which of its rows train, choose the epoch and test.
        transpose: The rows of the transposed graph; None where the graph is undirected.
    """

    index: int
    ids: Tensor
    rowptr: Tensor
    col: Tensor
    value: Tensor | None
    degree: Tensor
    x: Tensor | CSR
    y: Tensor
    split: PartSplit
    transpose: Rows | None

    @property
    def num_nodes(self) -> int:
        """Number of its nodes."""
        return len(self.ids)


@dataclass(frozen=True)
class PartsFacts:
    """What is true of the whole graph.

    Attributes:
        num_nodes: Number of nodes.
        num_edges: Number of stored directions.
        num_features: Number of features of a node.
        class_names: Name of each class.
        starts: Part p has the new ids `starts[p]` to `starts[p + 1] - 1`.
        is_symmetric: Whether the graph is undirected.
        has_negative_weights: Whether any edge weighs less than 0.
        mean_degree: `Graph.mean_degree`.
        mean_out_degree: The same of the transposed graph.
        num_train: Number of training nodes.
        num_val: Number of nodes that choose the epoch.
        num_test: Number of test nodes.
        split_name: Name of the split.
        split_fingerprint: `Split.fingerprint`.
        class_counts: Training nodes of each class.
        name: Name of the data set.
        source: Where the data come from.
        content: Digest of the arrays of all parts; equal where cut and data are the same.
        is_published: `Split.is_published`.
        chooses_on_train: `Split.chooses_on_train`.
        recipe: How columns of a table became the features, where they did.
    """

    num_nodes: int
    num_edges: int
    num_features: int
    class_names: tuple[str, ...]
    starts: tuple[int, ...]
    is_symmetric: bool
    has_negative_weights: bool
    mean_degree: float
    mean_out_degree: float
    num_train: int
    num_val: int
    num_test: int
    split_name: str
    split_fingerprint: str
    class_counts: tuple[int, ...]
    name: str
    source: dict[str, str] = field(default_factory=dict)
    content: str = ""
    is_published: bool = False
    chooses_on_train: bool = False
    recipe: FeatureRecipe | None = None

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return len(self.starts) - 1

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)


class Parts(Protocol):
    """A graph in parts, wherever they lie."""

    @property
    def facts(self) -> PartsFacts:
        """What is true of the whole graph."""
        ...

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        ...

    def part(self, index: int) -> Part:
        """One of the parts, counted from 0."""
        ...


@dataclass(frozen=True, eq=False)
class MemoryParts:
    """Parts that lie in memory."""

    facts: PartsFacts
    parts: tuple[Part, ...]

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return len(self.parts)

    def part(self, index: int) -> Part:
        """One of the parts, counted from 0."""
        return self.parts[index]


def cut_in_memory(data: NodeData, owner: Tensor) -> MemoryParts:
    """Cut a graph: the plain specification, which folders of parts are held to.

    Args:
        data: The graph with its features, labels and split.
        owner: The part of each node, int64 from 0 on; no part may be without nodes.

    Raises:
        DataError: The owners do not fit, or the data hold what parts cannot.
    """
    parts = tuple(iterate_parts(data, owner))
    facts = facts_of(data, owner)
    digests = [{name: describe(a).sha256 for name, a in arrays_of(part).items()} for part in parts]
    return MemoryParts(replace(facts, content=content_of(facts, digests)), parts)


def iterate_parts(data: NodeData, owner: Tensor) -> Iterator[Part]:
    """The parts of `cut_in_memory` one after another, of which none is kept."""
    data = data.to("cpu")
    sizes = part_sizes(owner, data.graph.num_nodes)
    if data.has_label_inputs or data.class_weight is not None:
        what = "labels among its features" if data.has_label_inputs else "weights of its classes"
        raise DataError(f"A graph is cut as it was loaded, without {what}.")
    by_part = torch.argsort(owner, stable=True)
    new_id = torch.empty(len(by_part), dtype=index_dtype(len(by_part)))
    new_id[by_part] = torch.arange(len(by_part), dtype=new_id.dtype)
    for index, ids in enumerate(by_part.split(sizes.tolist())):
        yield _part(data, index, ids.clone(), new_id)


def part_sizes(owner: Tensor, num_nodes: int) -> Tensor:
    """How many nodes each part has.

    Raises:
        DataError: There is not one owner a node, or a part has no nodes.
    """
    if owner.dtype != torch.int64 or owner.shape != (num_nodes,):
        raise DataError(
            f"The parts of {num_nodes} nodes are as many int64 numbers, one a node; "
            f"got {list(owner.shape)} of {owner.dtype}."
        )
    if int(owner.min()) < 0:
        raise DataError(f"Parts are numbered from 0 on, got {int(owner.min())}.")
    sizes = torch.bincount(owner)
    if bool((sizes == 0).any()):
        raise DataError(f"Part {int((sizes == 0).nonzero()[0])} has no nodes.")
    return sizes


def _part(data: NodeData, index: int, ids: Tensor, new_id: Tensor) -> Part:
    graph, split = data.graph, data.split
    renumbered = partial(_renumbered, ids=ids, new_id=new_id)
    rowptr, col, value = renumbered(graph.adjacency)
    return Part(
        index=index,
        ids=ids,
        rowptr=rowptr,
        col=col,
        value=value,
        degree=graph.degree[ids],
        x=data.x[ids] if isinstance(data.x, Tensor) else rows_of(data.x, ids),
        y=data.y[ids],
        split=PartSplit(
            split.name, *(local_rows(nodes, ids) for nodes in (split.train, split.val, split.test))
        ),
        transpose=None if graph.is_symmetric else renumbered(graph.transpose.adjacency),
    )


def local_rows(nodes: Tensor, ids: Tensor) -> Tensor:
    """The rows of a part, whose original ids these are, that hold any of `nodes`; all ascending."""
    if not len(nodes):
        return nodes.clone()
    place = torch.searchsorted(nodes, ids).clamp_(max=len(nodes) - 1)
    return (nodes[place] == ids).nonzero().view(-1)


def _selected(matrix: CSR, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Where each of these rows starts among their entries, and where the entries stand."""
    first, last = matrix.pattern.rowptr[ids].long(), matrix.pattern.rowptr[ids + 1].long()
    rowptr = torch.zeros(len(ids) + 1, dtype=torch.int64)
    torch.cumsum(last - first, 0, out=rowptr[1:])
    moved = torch.repeat_interleave(first - rowptr[:-1], last - first)
    return rowptr, moved.add_(torch.arange(len(moved)))


def _renumbered(matrix: CSR, ids: Tensor, new_id: Tensor) -> Rows:
    rowptr, entries = _selected(matrix, ids)
    col = new_id[matrix.pattern.col[entries].long()]
    return rowptr, col, None if matrix.value is None else matrix.value[entries]


def rows_of(matrix: CSR, ids: Tensor) -> CSR:
    """Some rows of a sparse matrix."""
    rowptr, entries = _selected(matrix, ids)
    pattern = Pattern(rowptr, matrix.pattern.col[entries], (len(ids), matrix.shape[1]), copy=False)
    return CSR(pattern, None if matrix.value is None else matrix.value[entries])


def facts_of(data: NodeData, owner: Tensor) -> PartsFacts:
    """What is true of the whole graph, but for the digest of its parts."""
    graph, split = data.graph, data.split
    sizes = part_sizes(owner, graph.num_nodes)
    counts = torch.bincount(data.y[split.train], minlength=data.num_classes)
    return PartsFacts(
        num_nodes=graph.num_nodes,
        num_edges=graph.num_edges,
        num_features=data.num_features,
        class_names=tuple(data.class_names),
        starts=(0, *sizes.cumsum(0).tolist()),
        is_symmetric=graph.is_symmetric,
        has_negative_weights=graph.has_negative_weights,
        mean_degree=graph.mean_degree,
        mean_out_degree=graph.transpose.mean_degree,
        num_train=len(split.train),
        num_val=len(split.val),
        num_test=len(split.test),
        split_name=split.name,
        split_fingerprint=split.fingerprint,
        class_counts=tuple(counts.tolist()),
        name=printable(data.name),
        source={name: printable(text) for name, text in data.source.items()},
        is_published=split.is_published,
        chooses_on_train=split.chooses_on_train,
        recipe=data.recipe,
    )


def arrays_of(part: Part) -> dict[str, Tensor]:
    """The arrays of a part by the names that their files have."""
    arrays = {
        "ids": part.ids,
        "degree": part.degree,
        "y": part.y,
        "train": part.split.train,
        "val": part.split.val,
        "test": part.split.test,
        **_named("", part.rowptr, part.col, part.value),
    }
    if isinstance(part.x, Tensor):
        arrays["x"] = part.x
    else:
        arrays |= _named("x_", part.x.pattern.rowptr, part.x.pattern.col, part.x.value)
    if part.transpose is not None:
        arrays |= _named("transpose_", *part.transpose)
    return arrays


def _named(prefix: str, rowptr: Tensor, col: Tensor, value: Tensor | None) -> dict[str, Tensor]:
    rows = {f"{prefix}rowptr": rowptr, f"{prefix}col": col}
    return rows if value is None else rows | {f"{prefix}value": value}


def content_of(facts: PartsFacts, digests: Sequence[Mapping[str, str]]) -> str:
    """The digest of a cut: of the facts, and of the arrays' digests, part after part."""
    described = to_json(facts)
    for name in _PROVENANCE:
        del described[name]
    text = json_text([described, [sorted(part.items()) for part in digests]])
    return hashlib.sha256(text.encode()).hexdigest()
