"""Everything that node classification needs of one graph, and how often linked nodes agree."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from akgnn.csr import CSR, check_values, first_not_finite, is_device
from akgnn.data.label_inputs import append_labels, hide_labels, labels_in, remove_labels
from akgnn.data.splits import Split
from akgnn.errors import DataError
from akgnn.graph import Graph

if TYPE_CHECKING:
    from akgnn.data.tables.recipe import FeatureRecipe
    from akgnn.data.tables.settings import TableSettings

WITHOUT_TEST = "-without-test"
"""What is in the name of a split whose test nodes were taken away."""


@dataclass(frozen=True)
class Homophily:
    """Whether linked nodes tend to be of one class.

    Attributes:
        share: Share of the edges that join two nodes of one class; NaN without edges.
        expected: That share if every end of an edge took a class at random, each as often as the
            ends in this graph have it: Σ_c (D_c / D)², with D_c the degrees of class c added up.
            Linked nodes tend to agree where `share` is above this, and to differ where it is below.
        num_edges: Number of edges; both directions of an undirected one count once.
    """

    share: float
    expected: float
    num_edges: int


@dataclass(frozen=True, eq=False)
class NodeData:
    """Features, labels, graph and split, checked against each other when built.

    Attributes:
        name: Name of the data set.
        x: Features, one row a node; sparse ones as CSR.
        y: Class of every node, -1 where unknown.
        graph: The graph.
        split: Nodes that train, choose the epoch and test.
        class_names: Name of each class, in the order of the labels.
        source: Where the data come from and how they were treated, for the record of a run.
        ids: The nodes' own ids, where the data come from tables.
        recipe: How columns of a table became the features, where they did.
        tables: Which tables and which of their columns the data come from, where they do.
        class_weight: Weight of each class in the training loss; all alike if None.
        has_label_inputs: Whether the last features are the labels of the training nodes, one
            feature a class; `with_label_inputs` adds them.
    """

    name: str
    x: Tensor | CSR
    y: Tensor
    graph: Graph
    split: Split
    class_names: tuple[str, ...]
    source: Mapping[str, str] = field(default_factory=dict)
    ids: Sequence[Any] | None = None
    recipe: "FeatureRecipe | None" = None
    tables: "TableSettings | None" = None
    class_weight: Tensor | None = None
    has_label_inputs: bool = False

    def __post_init__(self) -> None:
        _check_kinds(self.x, self.y)
        _check_others(self.graph, self.split, self.class_names, self.class_weight)
        nodes = self.graph.num_nodes
        if len(self.x.shape) != 2 or self.x.shape[0] != nodes:
            raise DataError(
                f"Features have shape {list(self.x.shape)}, but the graph has {nodes} nodes."
            )
        if self.x.shape[1] == 0:
            raise DataError("Features have no columns.")
        if isinstance(self.x, Tensor):
            _check_features(self.x)
        elif self.x.value is not None:
            check_values("The features", self.x.value, self.x.num_entries)
        if self.y.shape != (nodes,) or self.y.dtype != torch.int64:
            raise DataError(
                f"Labels must be {nodes} int64 numbers, one a node, "
                f"got {list(self.y.shape)} of {self.y.dtype}."
            )
        if int(self.y.max()) >= self.num_classes or int(self.y.min()) < -1:
            raise DataError(
                f"Labels run from {int(self.y.min())} to {int(self.y.max())}, but "
                f"{self.num_classes} classes allow 0 to {self.num_classes - 1}, and -1 for unknown."
            )
        if self.ids is not None and len(self.ids) != nodes:
            raise DataError(f"There are {len(self.ids)} ids for {nodes} nodes.")
        if self.class_weight is not None and self.class_weight.shape != (self.num_classes,):
            raise DataError(
                f"class_weight must be {self.num_classes} numbers, one a class, "
                f"got shape {list(self.class_weight.shape)}."
            )
        self._check_split()
        if self.has_label_inputs:
            self._check_label_inputs()

    def _check_label_inputs(self) -> None:
        """Labels of other nodes than the training nodes would give away what is to be predicted."""
        nodes = self.split.train
        row, label = labels_in(self.x, self.num_classes)
        if not (torch.equal(row, nodes) and torch.equal(label, self.y[nodes])):
            raise DataError(
                "The last features are not the labels of the training nodes; "
                "with_label_inputs() adds those, and with_split() keeps them right."
            )

    def _check_split(self) -> None:
        for part in ("train", "val", "test"):
            nodes = getattr(self.split, part)
            if nodes.numel() and (int(nodes.min()) < 0 or int(nodes.max()) >= len(self.y)):
                wrong = int(nodes.min()) if int(nodes.min()) < 0 else int(nodes.max())
                raise DataError(
                    f"The {part} set mentions node {wrong}, but there are {len(self.y)} nodes."
                )
            unknown = nodes[self.y[nodes] < 0]
            if unknown.numel():
                raise DataError(f"Node {int(unknown[0])} is in the {part} set but has no label.")
        if self.split.is_published:
            return
        seen = torch.bincount(self.y[self.split.train], minlength=self.num_classes)
        if bool((seen == 0).any()):
            missing = self.class_names[int((seen == 0).nonzero()[0])]
            raise DataError(f"Class {missing!r} has no training node, so it cannot be learned.")

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @property
    def num_features(self) -> int:
        """Number of features of a node."""
        return self.x.shape[1]

    @property
    def edge_homophily(self) -> float:
        """Share of edges between labelled nodes that join two of the same class."""
        source, target = self.graph.edge_index
        known = (self.y[source] >= 0) & (self.y[target] >= 0)
        same = (self.y[source] == self.y[target])[known]
        return float(same.float().mean()) if same.numel() else float("nan")

    @property
    def train_homophily(self) -> Homophily:
        """Whether linked training nodes agree: what may be known of it before the test."""
        return homophily_among(self.graph, self.y, self.split.train)

    def with_split(self, split: Split) -> "NodeData":
        """The same data under another split."""
        bare = self.with_label_inputs(False)
        return replace(bare, split=split).with_label_inputs(self.has_label_inputs)

    def without_test(self) -> "NodeData":
        """The same data with no test nodes, so that a search or a choice cannot look at them."""
        name = f"{self.split.name}{WITHOUT_TEST}"
        return self.with_split(replace(self.split, test=self.split.test[:0], name=name))

    def with_label_inputs(self, wanted: bool = True) -> "NodeData":
        """The same data with the labels of the training nodes among the features, or without."""
        if wanted == self.has_label_inputs:
            return self
        if wanted:
            x = append_labels(self.x, self.y, self.split.train, self.num_classes)
        else:
            x = remove_labels(self.x, self.num_classes)
        return replace(self, x=x, has_label_inputs=wanted)

    def x_hiding(self, nodes: Tensor) -> Tensor | CSR:
        """The features without the labels of these nodes, which are to be predicted."""
        if not self.has_label_inputs:
            return self.x
        return hide_labels(self.x, nodes[torch.isin(nodes, self.split.train)], self.num_classes)

    def to(self, device: torch.device | str) -> "NodeData":
        """The same data on another device; themselves if they lie there already."""
        if is_device(self.y.device, device):
            return self
        return replace(
            self,
            x=self.x.to(device),
            y=self.y.to(device),
            graph=self.graph.to(device),
            split=self.split.to(device),
            class_weight=None if self.class_weight is None else self.class_weight.to(device),
        )

    def __repr__(self) -> str:
        return (
            f"NodeData({self.name}: {self.graph.num_nodes} nodes, {self.graph.num_edges} edges, "
            f"{self.num_features} features, {self.num_classes} classes, {self.split.label})"
        )


def homophily_among(graph: Graph, y: Tensor, nodes: Tensor) -> Homophily:
    """Homophily of the edges that have both ends among `nodes`, which all have a class."""
    is_chosen = torch.zeros(graph.num_nodes, dtype=torch.bool, device=y.device)
    is_chosen[nodes] = True
    source, target = graph.edge_index
    between = is_chosen[source] & is_chosen[target]
    starts, ends = y[source[between]], y[target[between]]
    directions = len(starts)
    if not directions:
        return Homophily(float("nan"), float("nan"), 0)
    classes = int(y.max()) + 1
    # In a directed graph a class may have other shares of the sources than of the targets.
    shares = [
        torch.bincount(side, minlength=classes).double() / directions for side in (starts, ends)
    ]
    return Homophily(
        share=int((starts == ends).sum()) / directions,
        expected=float(shares[0] @ shares[1]),
        num_edges=directions // 2 if graph.is_symmetric else directions,
    )


def numbered(classes: int) -> tuple[str, ...]:
    """Names for classes that have none."""
    return tuple(str(label) for label in range(classes))


def content_sha256(
    x: Tensor | CSR, y: Tensor, graph: Graph, class_names: Sequence[str] = ()
) -> str:
    """The SHA-256 of features, labels, edges and the names of the classes."""
    digest = hashlib.sha256()
    for part in (*_arrays(x), y, *_arrays(graph.adjacency)):
        array = np.ascontiguousarray(part.cpu().numpy())
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.data)
    digest.update("\0".join(class_names).encode())
    return digest.hexdigest()


def _arrays(matrix: Tensor | CSR) -> list[Tensor]:
    if isinstance(matrix, Tensor):
        return [matrix]
    value = [] if matrix.value is None else [matrix.value]
    return [matrix.pattern.rowptr, matrix.pattern.col, *value]


def _check_kinds(x: object, y: object) -> None:
    if not isinstance(x, Tensor | CSR) or not isinstance(y, Tensor):
        kinds = f"{type(x).__name__} and {type(y).__name__}"
        raise DataError(f"Features and labels must be torch tensors (or CSR), got {kinds}.")


def _check_others(graph: object, split: object, class_names: object, weight: object) -> None:
    if not isinstance(graph, Graph):
        kind = type(graph).__name__
        raise DataError(f"graph must be a Graph, got {kind}; Graph.from_edge_index makes one.")
    if not isinstance(split, Split):
        kind = type(split).__name__
        raise DataError(f"split must be a Split(name, train, val, test), got {kind}.")
    if not isinstance(class_names, list | tuple) or not all(
        isinstance(name, str) for name in class_names
    ):
        raise DataError(f"class_names must be a tuple of texts, one a class, got {class_names!r}.")
    if not isinstance(weight, Tensor | None):
        kind = type(weight).__name__
        raise DataError(f"class_weight must be a torch tensor or None, got {kind}.")


def _check_features(x: Tensor) -> None:
    if not x.is_floating_point():
        raise DataError(f"Features must be floating-point numbers, got {x.dtype}.")
    where = first_not_finite(x)
    if where is not None:
        node, channel = divmod(where, x.shape[1])
        raise DataError(f"Feature {channel} of node {node} is {float(x[node, channel])}.")
