"""Two small measurements that tell what hardware can do: steps on generated graphs, and messages.

Every process takes the same steps at the same time, since processes of one machine share its
memory, as slices of the channels: so they wait for each other as often as in training. What a
message takes is told by a graph that is almost nothing to compute, along the nodes and along the
channels. Then all send each other rows, in the order in which training sends them. What a step or a
message mostly takes counts, the median of all tries: whatever disturbs them here disturbs a
training too.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import torch
import torch.distributed as dist
from scipy.optimize import nnls
from torch.multiprocessing.spawn import spawn

from akgnn.data.look_alike import look_alike
from akgnn.distributed.forecast import num_messages, units_of
from akgnn.distributed.group import Group
from akgnn.distributed.hardware import Hardware, read_hardware, write_hardware
from akgnn.distributed.meeting import loopback_only
from akgnn.distributed.mesh import MeshShape
from akgnn.distributed.parts import cut_in_memory
from akgnn.distributed.trainer import fit_parts, own_rows
from akgnn.distributed.workload import Workload, planned
from akgnn.machine.device import free_bytes
from akgnn.models.adaptive_network import AKGNNSettings
from akgnn.models.registry import build_model
from akgnn.training.callbacks import Callback, Epoch
from akgnn.training.settings import TrainSettings

_CLASSES, _FLOAT = 7, 4
# Nodes of the graphs at the fewest, so that a step takes longer than what it takes to start one,
# and at the most; and of those that tell what that takes.
_FEWEST = {"cpu": 2_000, "cuda": 1_000_000}
_MOST = {"cpu": 40_000, "cuda": 10_000_000}
_FEW = 100
# The first epochs of a training are slower. All trainings are gone through several times.
_EPOCHS, _UNSEEN, _ROUNDS = 8, 2, 3
# Rows of messages, of 64 numbers; the bounds of the large one; and how often all are sent.
_SMALL, _LARGE, _LEAST_LARGE, _MOST_LARGE, _TIMES = 1, 8_000, 500, 16_000, 2
# Messages follow each other as in a step: so many rows forward, as many backward with a sum of
# gradients after each, as many in evaluation.
_LAYERS = 5
_EXCHANGES, _MESSAGES = 3 * _LAYERS, 4 * _LAYERS
# Processes of one machine that messages are timed between.
_TRIED = 2
# No time of an edge is nothing.
_LEAST = 1e-6


@dataclass(frozen=True)
class _Try:
    """A training whose steps are timed."""

    nodes: int
    degree: int = 4
    features: int = 16
    entries: int | None = None
    channels: int = 64
    parts: int = 1
    is_along_nodes: bool = False


# Steps that differ in little but their messages: along the nodes there are more.
_MESSENGERS = (_Try(_FEW, channels=4, is_along_nodes=True), _Try(_FEW, channels=4))


def _tries(nodes: int) -> list[_Try]:
    """Pairs that differ in one thing each, so that its time is told."""
    return [
        _Try(_FEW, channels=16),
        _Try(_FEW, channels=16, parts=16),
        *(_Try(nodes, degree, channels=c) for degree in (4, 40) for c in (16, 64)),
        *(_Try(nodes, features=512, channels=channels) for channels in (16, 64)),
        *(_Try(nodes, features=512, entries=32, channels=channels) for channels in (16, 64)),
    ]


def measure(
    group: Group,
    device: torch.device,
    *,
    nodes: int | None = None,
    halo: int | None = None,
    link: float | None = None,
    sharing: int = 1,
) -> Hardware:
    """What this hardware can do, measured by all processes of the group at once.

    Args:
        group: The processes; between several of them messages are timed.
        device: Where each of them computes.
        nodes: Nodes that a process will have, if that is known. A product takes longer where the
            signal leaves the cache, so the graphs are as large as that, within bounds.
        halo: Rows that a process will receive for a product, if that is known; messages are as
            large, within bounds.
        link: Bytes a second that the wire is said to have; what messages attain of it is measured.
        sharing: Processes that will share the memory of this machine.
    """
    fewest, most = _FEWEST[device.type], _MOST[device.type]
    nodes = min(max(4 * fewest if nodes is None else nodes, fewest), most)
    rows = _LARGE if halo is None else halo // max(1, group.size - 1)
    rows = min(max(rows, _LEAST_LARGE), _MOST_LARGE)
    tries = _tries(nodes)
    rounds, messengers, few, many = [], [], [], []
    for _ in range(_ROUNDS):
        rounds.append([_step(each, device, group) for each in tries])
        if group.size > 1:
            # In every round: what disturbs a wire may do so for seconds.
            messengers.append([_step(each, device, group) for each in _MESSENGERS])
            few += _seconds(partial(_send, group, device, _SMALL))
            many += _seconds(partial(_send, group, device, rows))
    latency, rate = 0.0, None
    if group.size > 1:
        least, rate = _wire(group, few, many, rows)
        latency = max(least, _latency(group, _typical(group, messengers)))
    # What is left of a step is computing, and waiting for who computes longer.
    messages = latency * num_messages(_work_of(tries[0]), MeshShape(1, group.size))
    seconds = [max(each - messages, each / 2) for each in _typical(group, rounds)]
    step, part, *others = _per_unit(tries, seconds)
    narrow, wide, signal, feature, multiply, sparse, sparse_multiply = (1e9 * x for x in others)
    free = free_bytes(device)
    here = os.cpu_count() or 1 if device.type == "cpu" else torch.cuda.device_count()
    return Hardware(
        name=_device_name(device),
        source=f"measured with {group.size} process{'es' * (group.size > 1)} of "
        f"{torch.get_num_threads()} thread{'s' * (torch.get_num_threads() > 1)} on graphs of "
        f"{nodes:,} nodes",
        memory=None if free is None else max(1, free // (sharing if device.type == "cpu" else 1)),
        step=step,
        part=part,
        row_bytes=(16 * _FLOAT, 64 * _FLOAT),
        edge=(max(narrow, _LEAST), max(wide, _LEAST)),
        signal=signal,
        feature=feature,
        multiply=multiply,
        sparse_feature=sparse,
        sparse_multiply=sparse_multiply,
        wire=link or rate,
        efficiency=1.0 if link is None or rate is None else rate / link,
        latency=latency,
        per_machine=here,
    )


def _per_unit(tries: Sequence[_Try], seconds: Sequence[float]) -> list[float]:
    """The seconds of a unit of each figure, none below nothing, that explain those of all tries."""
    counts, wanted = np.array([_counts(each) for each in tries]), np.array(seconds)
    # By the time that each takes, so that errors are relative; and columns of one size.
    scale = counts.max(0)
    solution, _ = nnls(counts / scale / wanted[:, None], np.ones(len(tries)))
    found: list[float] = (solution / scale).tolist()
    return found


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "this machine"


def _work_of(each: _Try) -> Workload:
    """What a process has to do in a step."""
    return planned(
        num_nodes=each.nodes,
        num_edges=each.nodes * each.degree,
        num_features=each.features,
        num_classes=_CLASSES,
        labelled=0,
        channels=each.channels,
    )


def _counts(each: _Try) -> list[float]:
    """How many of its units each figure is taken in a step."""
    work = _work_of(each)
    units = units_of(work, work.share(1), 1, each.channels, each.channels)
    is_sparse, is_wide = each.entries is not None, each.channels == 64
    entries = each.nodes * (each.entries or each.features)
    features = [float(entries), float(entries * each.channels)]
    return [
        units.steps,
        each.parts,
        *((0.0, units.edges) if is_wide else (units.edges, 0.0)),
        units.signal,
        *([0.0, 0.0, *features] if is_sparse else [*features, 0.0, 0.0]),
    ]


class _Clock(Callback):
    """Notes when epochs ended."""

    def __init__(self, device: torch.device) -> None:
        self._device, self.times = device, [time.perf_counter()]

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        """Note it."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        self.times.append(time.perf_counter())


def _step(each: _Try, device: torch.device, group: Group) -> list[float]:
    """Seconds of steps with their evaluation, of which every process has nodes and channels."""
    groups, slices = (group.size, 1) if each.is_along_nodes else (1, group.size)
    nodes, parts = groups * each.nodes, groups * each.parts
    data = look_alike(
        nodes, each.degree, each.features, _CLASSES, each.entries, labelled=2 * _CLASSES
    )
    parted = cut_in_memory(data, torch.arange(nodes) * parts // nodes)
    own = (
        own_rows(parted, group, device)
        if each.is_along_nodes
        else own_rows(parted, Group(), device, channels=group)
    )
    settings = AKGNNSettings().updated({"hidden_channels": slices * each.channels})
    model = build_model("akgnn", settings, each.features, _CLASSES, seed=0).to(device)
    clock = _Clock(device)
    fit_parts(model, own, TrainSettings(epochs=_EPOCHS, patience=_EPOCHS), callbacks=[clock])
    seconds: list[float] = np.diff(clock.times)[_UNSEEN:].tolist()
    return seconds


def _typical(group: Group, rounds: Sequence[Sequence[list[float]]]) -> list[float]:
    """What each try mostly takes in the slowest process, of all rounds."""
    return _slowest(group, [median(chain(*each)) for each in zip(*rounds, strict=True)])


def _latency(group: Group, seconds: Sequence[float]) -> float:
    """What a message adds to a step whatever its size, waiting and waking up among it."""
    nodes, channels = (
        num_messages(_work_of(_MESSENGERS[0]), mesh)
        for mesh in (MeshShape(group.size, 1), MeshShape(1, group.size))
    )
    return (seconds[0] - seconds[1]) / (nodes - channels)


def _wire(
    group: Group, few: Sequence[float], many: Sequence[float], rows: int
) -> tuple[float, float]:
    """Seconds of a message whatever its size, and bytes a second that a process receives."""
    least, typical = _slowest(group, [median(few), median(many)])
    received = _EXCHANGES * (rows - _SMALL) * 64 * _FLOAT * (group.size - 1)
    # Where something else disturbed the few, they may seem to take as long.
    return least / _MESSAGES, received / max(typical - least, typical / 2)


def _send(group: Group, device: torch.device, rows: int) -> None:
    """Every process sends so many rows to each other one and waits for theirs, as in a step."""
    counts = [0 if rank == group.rank else rows for rank in range(group.size)]
    out, own = (torch.zeros(sum(counts), 64, device=device) for _ in range(2))
    number = torch.zeros(1, device=device)
    for layer in range(_EXCHANGES):
        group.exchange(out, own, counts, counts)
        if layer // _LAYERS == 1:
            # A wire may go both ways at once after processes met, and one way at a time otherwise.
            group.gather(number)
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _seconds(do: Callable[[], None]) -> list[float]:
    """What each of several tries takes."""
    seconds = []
    for _ in range(_TIMES):
        start = time.perf_counter()
        do()
        seconds.append(time.perf_counter() - start)
    return seconds


def _slowest(group: Group, seconds: Sequence[float]) -> list[float]:
    """The times of the slowest process, for which the others wait."""
    everyone = group.gather(torch.tensor(seconds, dtype=torch.float64))
    return [float(each) for each in torch.stack(everyone).max(0).values]


def measure_here(
    processes: int,
    device: torch.device,
    *,
    nodes: int | None = None,
    halo: int | None = None,
    link: float | None = None,
) -> Hardware:
    """As `measure`, for so many processes of this machine; two of them are tried, over Gloo."""
    if processes == 1:
        return measure(Group(), device, nodes=nodes, halo=halo, link=link)
    with TemporaryDirectory() as folder:
        threads = torch.get_num_threads()
        arguments = (processes, folder, str(device), nodes, halo, link, threads, loopback_only())
        spawn(_measure_by_gloo, arguments, nprocs=_TRIED)
        return read_hardware(Path(folder) / "hardware.json")


def _measure_by_gloo(
    rank: int,
    processes: int,
    folder: str,
    device: str,
    nodes: int | None,
    halo: int | None,
    link: float | None,
    threads: int,
    interface: dict[str, str],
) -> None:
    torch.set_num_threads(max(1, threads // processes))
    # This machine is measured, so nothing has to be reached from another.
    os.environ.update(interface)
    store = f"file://{folder}/store"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=_TRIED)
    try:
        group, place = Group(dist.group.WORLD), torch.device(device)
        hardware = measure(group, place, nodes=nodes, halo=halo, link=link, sharing=processes)
        if rank == 0:
            write_hardware(Path(folder) / "hardware.json", hardware)
    finally:
        dist.destroy_process_group()
