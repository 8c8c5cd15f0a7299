"""Training on parts: every process has a few, and all take the same steps."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from akgnn.csr import CSR, Pattern
from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split
from akgnn.distributed.channels import ChannelSlices, WholeStates, check_slices
from akgnn.distributed.division import PartDivision, spans_of
from akgnn.distributed.exchange import DividedGraph, Halo
from akgnn.distributed.group import Group
from akgnn.distributed.parts import Part, Parts, PartsFacts, Rows
from akgnn.distributed.signal_files import signals_in_files
from akgnn.errors import SettingsError
from akgnn.models.akgnn import AKGNN
from akgnn.ops.part_rows import PartRows
from akgnn.ops.rows import divided, sliced
from akgnn.training.callbacks import Callback
from akgnn.training.fit import fit
from akgnn.training.result import FitResult
from akgnn.training.settings import TrainSettings
from akgnn.training.state import Snapshot
from akgnn.training.strategies.supervised import Strategy, weight_of_counts


@dataclass(frozen=True, eq=False)
class OwnSplit(Split):
    """The rows of one process that train, choose the epoch and test; any of them may be none."""

    def __post_init__(self) -> None:
        """The split of the whole graph was checked."""


@dataclass(frozen=True, eq=False)
class OwnData(NodeData):
    """The data of one process."""

    def __post_init__(self) -> None:
        """The data of the whole graph were checked."""


@dataclass(frozen=True, eq=False)
class OwnRows:
    """What one process holds of a graph in parts.

    Attributes:
        facts: What is true of the whole graph.
        data: Its rows; the graph's columns are these and the halo.
        ids: The original id of each row.
        division: How sums over nodes are made.
        slices: Who has which channels of these rows; None where this process has all.
        is_in_files: Whether signals that wait for the backward pass lie in files.
    """

    facts: PartsFacts
    data: NodeData
    ids: Tensor
    division: PartDivision
    slices: ChannelSlices | None = None
    is_in_files: bool = False

    @contextmanager
    def active(self) -> Iterator[None]:
        """Inside, signals have these rows, and models compute these channels."""
        waiting = signals_in_files() if self.is_in_files else nullcontext()
        with divided(self.ids, self.division), sliced(self.slices), waiting:
            yield


def own_rows(
    parts: Parts,
    group: Group,
    device: torch.device | str = "cpu",
    *,
    channels: Group | None = None,
    at_once: int | None = None,
) -> OwnRows:
    """The rows of this process, of a graph whose parts are shared out evenly.

    Args:
        parts: All parts.
        group: The processes that share them.
        device: Where this one computes.
        channels: The processes that have the same rows, and share the channels; this one has all
            channels if None.
        at_once: How many parts are in memory at a time; all if None. It changes no bit of what is
            trained. With fewer than this process has, arrays of a folder stay memory maps, and
            signals that wait for the backward pass lie in temporary files.

    Raises:
        SettingsError: There are more processes than parts.
    """
    facts = parts.facts
    check_enough_parts(parts, group.size)
    spans = spans_of(facts.num_parts, group.size)
    own = [parts.part(index) for index in range(*spans[group.rank])]
    starts = [facts.starts[first] for first, _ in spans] + [facts.num_nodes]
    sizes = torch.tensor([0, *(len(part.ids) for part in own)]).cumsum(0).tolist()
    blocks = [slice(first, last) for first, last in itertools.pairwise(sizes)]
    data = OwnData(
        facts.name,
        _features(own, device),
        torch.cat([part.y for part in own]).to(device),
        _graph(own, starts, parts, group, device, at_once),
        _split(own, blocks, parts).to(device),
        facts.class_names,
        facts.source,
    )
    ids = torch.cat([part.ids for part in own]).to(device)
    slices = None if channels is None or channels.size == 1 else ChannelSlices(channels)
    is_in_files = at_once is not None and at_once < len(own)
    return OwnRows(facts, data, ids, PartDivision(blocks, spans, group), slices, is_in_files)


def check_enough_parts(parts: Parts, processes: int) -> None:
    """Refuse to share parts out among more processes than there are parts.

    Raises:
        SettingsError: There are more.
    """
    if processes > parts.num_parts:
        raise SettingsError(
            f"{parts.num_parts} parts are too few for {processes} processes that share the nodes; "
            "take fewer, or cut the graph into more."
        )


def fit_parts(
    model: nn.Module,
    rows: OwnRows,
    settings: TrainSettings | None = None,
    *,
    seed: int = 0,
    strategy: Strategy | None = None,
    resume: Snapshot | None = None,
    callbacks: Sequence[Callback] = (),
) -> FitResult:
    """As `fit`, called by every process with its rows and the same other arguments.

    Raises:
        SettingsError: The model sums over nodes in a way of its own, or mixes channels that
            several processes have.
    """
    check_divisible(type(model))
    settings = TrainSettings() if settings is None else settings
    if rows.slices is not None:
        check_slices(type(model), getattr(model, "settings", None), rows.slices.number)
        callbacks = [WholeStates(cast(AKGNN, model), settings, rows.slices, callbacks)]
    data = rows.data
    if settings.class_weight == "balanced":
        counts = torch.tensor(rows.facts.class_counts, device=data.y.device)
        data = replace(data, class_weight=weight_of_counts(counts))
    with rows.active():
        return fit(
            model,
            data,
            settings,
            seed=seed,
            strategy=strategy,
            resume=resume,
            callbacks=callbacks,
        )


def check_divisible(model: type[nn.Module] | None) -> None:
    """Refuse a class of models that cannot be trained on parts.

    A class says that it can by `is_divisible = True`: all its sums over nodes are those of
    `akgnn.layers` and `akgnn.ops`.

    Raises:
        SettingsError: It does not say so.
    """
    if not getattr(model, "is_divisible", False):
        name = "This" if model is None else model.__name__
        raise SettingsError(
            f"{name} cannot be trained on parts of a graph; akgnn in the orders "
            "transform-first, propagate-first and blocks can."
        )


def _features(own: Sequence[Part], device: torch.device | str) -> Tensor | CSR:
    """The features of all parts here: dense ones as they lie, sparse ones one below the other."""
    dense = [part.x.to(device) for part in own if isinstance(part.x, Tensor)]
    if dense:
        return PartRows(dense, [part.ids.to(device) for part in own])
    sparse = [part.x for part in own if isinstance(part.x, CSR)]
    counts = torch.cat([x.pattern.rowptr.diff() for x in sparse])
    rowptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    col = torch.cat([x.pattern.col for x in sparse])
    values = [x.value for x in sparse if x.value is not None]
    shape = (len(counts), sparse[0].shape[1])
    return CSR(Pattern(rowptr, col, shape), torch.cat(values) if values else None).to(device)


def _graph(
    own: Sequence[Part],
    starts: Sequence[int],
    parts: Parts,
    group: Group,
    device: torch.device | str,
    at_once: int | None,
) -> DividedGraph:
    facts = parts.facts

    def graph_of(rows: Sequence[Rows], degree: Tensor, mean: float, **more: Any) -> DividedGraph:
        rows = [
            (rowptr.to(device), col.to(device), None if value is None else value.to(device))
            for rowptr, col, value in rows
        ]
        return DividedGraph(
            rows,
            Halo([col for _, col, _ in rows], starts, group),
            degree.to(device),
            mean_degree=mean,
            has_negative_weights=facts.has_negative_weights,
            at_once=at_once,
            **more,
        )

    transpose = None
    if not facts.is_symmetric:
        out = [part.transpose for part in own if part.transpose is not None]
        degree = torch.cat([_degree(rowptr, value) for rowptr, _, value in out])
        transpose = graph_of(out, degree, facts.mean_out_degree)
    return graph_of(
        [(part.rowptr, part.col, part.value) for part in own],
        torch.cat([part.degree for part in own]),
        facts.mean_degree,
        transpose=transpose,
    )


def _degree(rowptr: Tensor, value: Tensor | None) -> Tensor:
    counts = rowptr.diff()
    if value is None:
        return counts.float()
    degree = torch.zeros(len(counts), dtype=torch.float64)
    return degree.index_add_(0, torch.repeat_interleave(counts), value.double()).to(value.dtype)


def _split(own: Sequence[Part], blocks: Sequence[slice], parts: Parts) -> OwnSplit:
    def nodes(name: str) -> Tensor:
        rows = [
            getattr(part.split, name) + block.start for part, block in zip(own, blocks, strict=True)
        ]
        return torch.cat(rows)

    facts = parts.facts
    return OwnSplit(
        facts.split_name,
        nodes("train"),
        nodes("val"),
        nodes("test"),
        # The training nodes of one process need not have every class.
        is_published=True,
        chooses_on_train=facts.chooses_on_train,
    )
