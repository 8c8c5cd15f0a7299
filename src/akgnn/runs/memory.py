"""How much memory a training run needs: measured on a small graph before it starts.

A training step on two small random graphs, of the same features, classes and mean degree, tells how
memory grows with the nodes; the rest is a straight line. Where training would not fit, it is
refused before it starts with what to change, or explained when it fails.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import nn

from akgnn.csr import CSR
from akgnn.data.generated import LargeGraphSettings
from akgnn.data.look_alike import look_alike
from akgnn.data.node_data import NodeData
from akgnn.errors import AkgnnError, MissingExtraError, OutOfMemoryError, SettingsError
from akgnn.machine.device import free_bytes, size_text
from akgnn.machine.memory import peak_of_tensors
from akgnn.models.registry import build_model
from akgnn.ops.dropout import Noise
from akgnn.runs.plan import RunPlan

_ELSEWHERE = "Take a smaller model or graph, or a device with more memory."
_FLOAT, _INDEX, _LABEL = 4, 4, 8
# Beside what a step holds: the weights, Adam's two means, the best weights and the initial ones.
_COPIES_OF_WEIGHTS = 5
# Nodes of the small graphs, of which the larger has twice as many; fewer where a model is so wide
# that they would hold more numbers than this.
_NODES, _NUMBERS = 256, 2**24
# Far more copies of a signal than a layer keeps.
_SIGNALS = 20
# Strategies whose memory grows with pairs of nodes, of which small graphs tell nothing.
_NOT_LINEAR = ("edge-augmentation",)
# Fewer hidden channels than this are hardly worth training.
_FEWEST_CHANNELS = 8


@dataclass(frozen=True)
class Sizes:
    """The numbers in a data set that memory depends on.

    Edges count in each stored direction; `entries` are those of sparse features, None where they
    are dense.
    """

    nodes: int
    edges: int
    features: int
    classes: int
    entries: int | None = None

    @classmethod
    def of(cls, data: NodeData) -> "Sizes":
        """The sizes of these data."""
        entries = data.x.num_entries if isinstance(data.x, CSR) else None
        graph = data.graph
        return cls(graph.num_nodes, graph.num_edges, data.num_features, data.num_classes, entries)

    @classmethod
    def expected(cls, settings: LargeGraphSettings) -> "Sizes":
        """The sizes of a graph that is still to be built."""
        edges = round(settings.num_nodes * settings.degree)
        return cls(settings.num_nodes, edges, settings.num_features, settings.num_classes)

    @property
    def data_bytes(self) -> int:
        """What a generated graph takes with its dense features, labels and split."""
        per_node = _FLOAT * self.features + _INDEX + 2 * _LABEL
        return per_node * self.nodes + _INDEX * self.edges


def training_bytes(plan: RunPlan, sizes: Sizes, device: torch.device) -> int | None:
    """The most memory that training takes beside the data; None where that cannot be told."""
    if plan.preset.strategy.name in _NOT_LINEAR:
        return None
    build = partial(
        build_model, plan.run.model, plan.preset.model, sizes.features, sizes.classes, seed=0
    )
    try:
        with torch.device("meta"):
            weights: int = sum(parameter.numel() for parameter in build().parameters())
    except (MissingExtraError, NotImplementedError):
        return None
    # Members of an ensemble have their own; how many train at once follows from what is free.
    of_weights = _FLOAT * _COPIES_OF_WEIGHTS * weights * plan.run.ensemble
    hidden: int = plan.preset.model.to_dict().get("hidden_channels", 1)
    width = max(hidden, sizes.classes, sizes.features, weights // 64)
    nodes = max(4, min(_NODES, _NUMBERS // width))
    if _FLOAT * _COPIES_OF_WEIGHTS * weights > 2**30 or nodes < 16:
        # Too wide to be tried out: the weights alone are a lower bound that tells enough.
        return of_weights + _FLOAT * weights + _FLOAT * width * sizes.nodes
    few, many = (_peak(plan, build(), sizes, n, device) for n in (nodes, 2 * nodes))
    each = max(0, many - few) / nodes
    return round(few + each * (sizes.nodes - nodes)) + of_weights


def _surely_enough(plan: RunPlan, sizes: Sizes) -> int:
    """More bytes than any training takes whose memory grows with the nodes, without a measurement.

    It saves small graphs the time that a measurement takes.
    """
    if plan.preset.strategy.name in _NOT_LINEAR:
        return 0
    options: dict[str, int] = plan.preset.model.to_dict()
    width = max(options.get("hidden_channels", 1), sizes.classes)
    if str(options.get("order")) == "propagate-first":
        width = max(width, sizes.features)
    channels = _SIGNALS * width * (5 + options.get("num_layers", 2)) + _SIGNALS * sizes.features
    heads = options.get("heads", 1) * _SIGNALS
    weights = 10 * width * (sizes.features + width * options.get("num_layers", 2))
    weights *= plan.run.ensemble
    weights += _SIGNALS * (sizes.entries or 0)
    passes: int = plan.preset.strategy.to_dict().get("passes", 1)
    return _FLOAT * passes * (channels * sizes.nodes + heads * width * sizes.edges + weights)


def _peak(plan: RunPlan, model: nn.Module, sizes: Sizes, nodes: int, device: torch.device) -> int:
    """The most bytes that a training step holds on a graph of so many nodes."""
    model, strategy = model.to(device).train(), plan.strategy()

    def step(data: NodeData) -> None:
        next(strategy.losses(model, data, Noise(0))).sum().backward()

    # What dropout keeps for signals of one shape is bounded, and is not to count.
    step(_small(sizes, nodes).to(device))
    model.zero_grad()
    # What is built once and kept for a graph, such as the transpose, is part of it.
    return peak_of_tensors(partial(step, _small(sizes, nodes).to(device)), device)


def _small(sizes: Sizes, nodes: int) -> NodeData:
    """A random graph of so many nodes, otherwise like the data."""
    entries = sizes.entries
    return look_alike(
        nodes,
        sizes.edges / max(sizes.nodes, 1),
        sizes.features,
        sizes.classes,
        None if entries is None else max(1, round(entries / sizes.nodes)),
    )


def _halves(value: int, least: int = _FEWEST_CHANNELS) -> Iterator[int]:
    while value >= 2 * least:
        value //= 2
        yield value


# Settings that save memory, each with the values to try, the mildest first.
_REMEDIES: Mapping[str, Callable[[int], Iterable[int]]] = {
    "hidden_channels": _halves,
    "num_layers": lambda value: range(value - 1, 0, -1),
    "recompute": lambda value: () if value else (True,),
}


@dataclass(frozen=True)
class Remedy:
    """A change of one setting that lets training fit, and how many bytes it takes then."""

    setting: str
    value: int
    needed: int

    def __str__(self) -> str:
        return f"`{self.setting}={self.value}` ({size_text(self.needed)})"


def check_memory(
    plan: RunPlan, sizes: Sizes, device: torch.device, *, is_loaded: bool = True
) -> None:
    """Refuse training that is estimated to need more memory than the device has free.

    Data that are not loaded yet need room too.
    """
    free, data = free_bytes(device), 0 if is_loaded else sizes.data_bytes
    if free is None or data + _surely_enough(plan, sizes) <= free:
        return
    training = training_bytes(plan, sizes, device)
    if training is None or data + training <= free:
        return
    beside = "beside the data" if is_loaded else "with the data"
    raise OutOfMemoryError(
        f"Training needs about {size_text(data + training)} {beside}, but {device} has "
        f"{size_text(free)} free. {_advice(plan, sizes, device, free - data)} The estimate may be "
        "too high: `force=True` trains all the same."
    )


@contextmanager
def memory_errors_explained(
    plan: RunPlan,
    device: torch.device,
    sizes: Sizes | None = None,
    unsized: str = "the data do not fit into it",
) -> Iterator[None]:
    """Inside, running out of memory becomes an error that says what to change.

    The sizes of the data are not known while they are being loaded; then it says `unsized`.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        # PyTorch has no class of its own for the memory of a CPU.
        is_memory = isinstance(error, MemoryError | torch.OutOfMemoryError) or (
            "can't allocate memory" in str(error)
        )
        if isinstance(error, AkgnnError) or not is_memory:
            raise
        what = f"{device} ran out of memory{_asked_for(error)}"
        if sizes is None:
            raise OutOfMemoryError(f"{what}: {unsized}.") from error
        training = training_bytes(plan, sizes, device)
        if training is None:
            raise OutOfMemoryError(f"{what}. {_ELSEWHERE}") from error
        raise OutOfMemoryError(
            f"{what}; training needs about {size_text(training)} beside the data. "
            # How much there was is no longer known; half as much is worth trying.
            f"{_advice(plan, sizes, device, training // 2)}"
        ) from error


def remedies(plan: RunPlan, sizes: Sizes, device: torch.device, most: int) -> list[Remedy]:
    """Changes that each let training take at most so many bytes."""
    found = []
    for members in _halves(plan.run.ensemble, 1):
        fewer = replace(plan, run=replace(plan.run, ensemble=members))
        needed = training_bytes(fewer, sizes, device)
        if needed is not None and needed <= most:
            found.append(Remedy("ensemble", members, needed))
            break
    for name, milder in _REMEDIES.items():
        if name not in plan.preset.model.names():
            continue
        for value in milder(getattr(plan.preset.model, name)):
            try:
                preset = plan.preset.updated_by_kind({"model": {name: value}})
                needed = training_bytes(replace(plan, preset=preset), sizes, device)
            except SettingsError:
                # The value does not go with the other settings.
                continue
            if needed is not None and needed <= most:
                found.append(Remedy(name, value, needed))
                break
    return found


def _advice(plan: RunPlan, sizes: Sizes, device: torch.device, most: int) -> str:
    found = remedies(plan, sizes, device, most)
    return f"Less is needed with {' or '.join(map(str, found))}." if found else _ELSEWHERE


def _asked_for(error: Exception) -> str:
    """How much the allocation that failed was for, as far as the error says."""
    asked = re.search(r"tried to allocate ([\d.]+) (bytes|\w+)", str(error), re.IGNORECASE)
    if asked is None:
        return ""
    size = size_text(int(asked[1])) if asked[2] == "bytes" else f"{asked[1]} {asked[2]}"
    return f" when {size} more were asked for"
