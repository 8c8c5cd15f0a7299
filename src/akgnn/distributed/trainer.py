"""Training on parts: every process has a few, and all take the same steps."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from akgnn.csr import CSR, Pattern
from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split
from akgnn.distributed.division import PartDivision, spans_of
from akgnn.distributed.exchange import DividedGraph, Halo
from akgnn.distributed.group import Group
from akgnn.distributed.parts import Part, Parts, PartsFacts
from akgnn.errors import SettingsError
from akgnn.ops.rows import divided
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
class OwnRows:
    """What one process holds of a graph in parts.

    Attributes:
        facts: What is true of the whole graph.
        data: Its rows; the graph's columns are these and the halo.
        ids: The original id of each row.
        division: How sums over nodes are made.
    """

    facts: PartsFacts
    data: NodeData
    ids: Tensor
    division: PartDivision

    @contextmanager
    def active(self) -> Iterator[None]:
        """Inside, signals have these rows."""
        with divided(self.ids, self.division):
            yield


def own_rows(parts: Parts, group: Group, device: torch.device | str = "cpu") -> OwnRows:
    """The rows of this process, of a graph whose parts are shared out evenly.

    Raises:
        SettingsError: There are more processes than parts.
    """
    facts = parts.facts
    check_enough_parts(parts, group)
    spans = spans_of(facts.num_parts, group.size)
    own = [parts.part(index) for index in range(*spans[group.rank])]
    starts = [facts.starts[first] for first, _ in spans] + [facts.num_nodes]
    sizes = torch.tensor([0, *(len(part.ids) for part in own)]).cumsum(0).tolist()
    blocks = [slice(first, last) for first, last in itertools.pairwise(sizes)]
    data = NodeData(
        facts.name,
        _features(own).to(device),
        torch.cat([part.y for part in own]).to(device),
        _graph(own, starts, parts, group, device),
        _split(own, blocks, parts).to(device),
        facts.class_names,
        facts.source,
    )
    ids = torch.cat([part.ids for part in own]).to(device)
    return OwnRows(facts, data, ids, PartDivision(blocks, spans, group))


def check_enough_parts(parts: Parts, group: Group) -> None:
    """Refuse more processes than there are parts.

    Raises:
        SettingsError: There are more.
    """
    if group.size > parts.num_parts:
        raise SettingsError(
            f"{group.size} processes cannot share {parts.num_parts} parts: start at most "
            f"{parts.num_parts}, or cut the graph into more."
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
        SettingsError: The model sums over nodes in a way of its own.
    """
    check_divisible(type(model))
    settings = TrainSettings() if settings is None else settings
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


def _features(own: Sequence[Part]) -> Tensor | CSR:
    """The features of all parts here, one below the other."""
    dense = [part.x for part in own if isinstance(part.x, Tensor)]
    if dense:
        return dense[0] if len(dense) == 1 else torch.cat(dense)
    sparse = [part.x for part in own if isinstance(part.x, CSR)]
    counts = torch.cat([x.pattern.rowptr.diff() for x in sparse])
    rowptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    col = torch.cat([x.pattern.col for x in sparse])
    values = [x.value for x in sparse if x.value is not None]
    shape = (len(counts), sparse[0].shape[1])
    return CSR(Pattern(rowptr, col, shape), torch.cat(values) if values else None)


def _graph(
    own: Sequence[Part],
    starts: Sequence[int],
    parts: Parts,
    group: Group,
    device: torch.device | str,
) -> DividedGraph:
    facts = parts.facts

    def rows_of(
        arrays: Sequence[tuple[Tensor, Tensor, Tensor | None]],
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        counts = torch.cat([rowptr.diff() for rowptr, _, _ in arrays])
        rowptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        values = [value for _, _, value in arrays if value is not None]
        col = torch.cat([col for _, col, _ in arrays])
        value = torch.cat(values).to(device) if values else None
        return rowptr.to(device), col.to(device), value

    transpose = None
    if not facts.is_symmetric:
        out = rows_of([part.transpose for part in own if part.transpose is not None])
        rowptr, _, value = out
        degree = (
            rowptr.diff().float()
            if value is None
            else torch.zeros(len(rowptr) - 1, dtype=torch.float64, device=device)
            .index_add_(0, torch.repeat_interleave(rowptr.diff()), value.double())
            .to(value.dtype)
        )
        transpose = DividedGraph(
            out,
            Halo(out[1], starts, group),
            degree,
            mean_degree=facts.mean_out_degree,
            has_negative_weights=facts.has_negative_weights,
        )
    rows = rows_of([(part.rowptr, part.col, part.value) for part in own])
    return DividedGraph(
        rows,
        Halo(rows[1], starts, group),
        torch.cat([part.degree for part in own]).to(device),
        mean_degree=facts.mean_degree,
        has_negative_weights=facts.has_negative_weights,
        transpose=transpose,
    )


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
