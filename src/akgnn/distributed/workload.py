"""What is trained on which graph, in numbers: those of a folder of parts, or of one not yet cut."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import ceil, log2

from akgnn.distributed.costs import MOST_PROCESSES, Share, Survey
from akgnn.distributed.folder import FolderParts
from akgnn.errors import SettingsError

_FLOAT = 4
# How the halo of a good cut grows with the number P of groups, as a share of own rows: METIS left
# 0.34 of PubMed's rows at 8 groups and 0.87 at 64. So ρ = 0.9 (log₂ P / 6)^1.36.
_GOOD_AT_64, _GOOD_POWER = 0.9, 1.36
# Where no cut says otherwise there are so many parts a process.
_PARTS_A_PROCESS = 4

CUTS = ("good", "random")
"""Cuts that can be supposed of a graph that is not cut yet."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A graph, a model, and what each number of groups of nodes comes to.

    Attributes:
        num_nodes: Number of nodes.
        num_edges: Stored directions, those of a transpose among them.
        num_features: Features a node.
        num_classes: Number of classes.
        num_labelled: Rows that training and evaluation classify.
        num_train: Those of them that train.
        feature_entries: Stored numbers of features of all nodes; zeros too where they are dense.
        is_sparse: Whether features are.
        is_directed: Whether the transpose is stored too.
        num_layers: Layers, K.
        channels: Hidden channels, C.
        number_bytes: Bytes of a number of a signal.
        num_parts: Into how many parts the graph is cut; None if that is still open.
        share: What the process with most has, of so many groups of nodes.
    """

    num_nodes: int
    num_edges: int
    num_features: int
    num_classes: int
    num_labelled: int
    num_train: int
    feature_entries: int
    is_sparse: bool
    is_directed: bool
    num_layers: int
    channels: int
    number_bytes: int
    num_parts: int | None
    share: Callable[[int], Share]

    def parts_for(self, groups: int) -> int:
        """Into how many parts the graph is cut for so many groups of nodes."""
        return self.num_parts or _PARTS_A_PROCESS * groups


def planned(
    *,
    num_nodes: int,
    num_edges: int,
    num_features: int,
    num_classes: int,
    labelled: float,
    num_layers: int = 5,
    channels: int = 64,
    number_bytes: int = _FLOAT,
    cut: str | float = "good",
) -> Workload:
    """The work on an undirected graph that is not cut yet, with dense features.

    Args:
        num_nodes: Number of nodes.
        num_edges: Directed edges, each direction counted.
        num_features: Features a node.
        num_classes: Number of classes.
        labelled: Share of the nodes whose labels training and evaluation read.
        num_layers: Layers.
        channels: Hidden channels.
        number_bytes: Bytes of a number, of features as of signals.
        cut: `good`, `random`, or the rows of a halo as a share of own rows.

    Raises:
        SettingsError: A number is outside its range.
    """
    for name, value in (
        ("num_nodes", num_nodes), ("num_features", num_features), ("num_classes", num_classes),
        ("num_layers", num_layers), ("hidden_channels", channels),
    ):  # fmt: skip
        if not value >= 1:
            raise SettingsError(f"{name} must be at least 1, got {value}.")
    if num_edges < 0:
        raise SettingsError(f"num_edges must be at least 0, got {num_edges}.")
    if not 0 <= labelled <= 1:
        raise SettingsError(f"labelled is a share of the nodes, from 0 to 1; got {labelled}.")
    entries, rows = num_nodes * num_features, round(labelled * num_nodes)

    def share(groups: int) -> Share:
        own = ceil(num_nodes / groups)
        halo = estimated_halo(num_nodes, num_edges, groups, cut)
        features = ceil(entries / groups) * number_bytes
        return Share(groups, own, ceil(num_edges / groups), features, halo, halo)

    return Workload(
        num_nodes=num_nodes,
        num_edges=num_edges,
        num_features=num_features,
        num_classes=num_classes,
        num_labelled=rows,
        num_train=rows,
        feature_entries=entries,
        is_sparse=False,
        is_directed=False,
        num_layers=num_layers,
        channels=channels,
        number_bytes=number_bytes,
        num_parts=None,
        share=share,
    )


def estimated_halo(num_nodes: int, num_edges: int, groups: int, cut: str | float) -> int:
    """The rows of others that one of so many groups of nodes needs, on a graph not yet cut.

    Of a random cut they are N (1 - 1/P) (1 - (1 - 1/P)^d) for the mean degree d; where degrees
    differ they are fewer, since this is concave in d. No cut is worse.
    """
    if groups == 1:
        return 0
    outside = 1 - 1 / groups
    most: float = num_nodes * outside * (1 - outside ** (num_edges / num_nodes))
    if cut == "random":
        return ceil(most)
    ratio: float = _GOOD_AT_64 * (log2(groups) / 6) ** _GOOD_POWER if isinstance(cut, str) else cut
    return ceil(min(most, ratio * num_nodes / groups))


def cut_already(
    parts: FolderParts, *, num_layers: int = 5, channels: int = 64, number_bytes: int = _FLOAT
) -> Workload:
    """The work on a graph in parts, whose halos are counted."""
    facts = parts.facts
    counted = {share.processes: share for share in parts.costs.shares}

    @cache
    def share(groups: int) -> Share:
        if groups in counted:
            return counted[groups]
        if groups > MOST_PROCESSES:
            # Half the nodes have less than the halo of all, and never more than a random cut's.
            last = counted[max(counted)]
            random = estimated_halo(facts.num_nodes, last.edges * last.processes, groups, "random")
            scale = last.processes / groups
            return Share(
                groups,
                *(ceil(scale * each) for each in (last.nodes, last.edges, last.feature_bytes)),
                *(min(random, halo) for halo in (last.halo, last.transpose_halo)),
            )
        survey = Survey(facts.starts, groups)
        for index in range(parts.num_parts):
            survey.add(parts.part(index))
        return survey.share(groups)

    sizes = [
        {name: file.shape for name, file in part.arrays.items()} for part in parts.manifest.parts
    ]
    entries = sum(
        shape["x"][0] * shape["x"][1] if "x" in shape else shape["x_col"][0] for shape in sizes
    )
    return Workload(
        num_nodes=facts.num_nodes,
        num_edges=facts.num_edges * (1 if facts.is_symmetric else 2),
        num_features=facts.num_features,
        num_classes=facts.num_classes,
        num_labelled=facts.num_train + facts.num_val,
        num_train=facts.num_train,
        feature_entries=entries,
        is_sparse="x" not in sizes[0],
        is_directed=not facts.is_symmetric,
        num_layers=num_layers,
        channels=channels,
        number_bytes=number_bytes,
        num_parts=facts.num_parts,
        share=share,
    )
