"""What a training step costs on a mesh of processes, before it is run.

A step is one of training and the evaluation that follows it. The process with most decides: its
memory must suffice, and the others wait for it. Nothing is hidden behind anything else: what is
computed and what travels take turns.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from math import ceil, log2

from akgnn.distributed.costs import Memory, Share
from akgnn.distributed.division import branches_of, spans_of
from akgnn.distributed.exchange import channels_at_once
from akgnn.distributed.hardware import Hardware
from akgnn.distributed.mesh import MeshShape
from akgnn.distributed.workload import Workload
from akgnn.errors import SettingsError

_FLOAT, _DOUBLE = 4, 8
# Channels that stay together: a word of a mask.
_UNIT = 4
# Passes over the layers: forward, backward, evaluation; and forward again where slices of channels
# take turns.
_PASSES, _PASSES_SLICED = 3, 4
# Messages a step along the nodes: two of the loss, four of gradients beside one for each layer's
# scalar, two of scores; and two where all processes meet.
_MESSAGES, _MEETING = 8, 2
# Numbers in those of the loss and of scores: loss, nodes; loss, hits and nodes of two sets.
_NUMBERS_OF_SUMS = 2 + 2 * 3
# Along the channels: logits of training and evaluation, gradients of all scalars at once.
_MESSAGES_OF_SLICES = 3


@dataclass(frozen=True)
class Received:
    """Bytes that a process receives in a step.

    Attributes:
        halo: Rows of other processes, for each layer.
        gradients: Sums over nodes of other processes.
        scores: What other slices of the channels have of the logits of labelled rows.
    """

    halo: int
    gradients: int
    scores: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.halo + self.gradients + self.scores


@dataclass(frozen=True)
class Units:
    """What a process does in a step, in the units that hardware has times for.

    Attributes:
        steps: One; more where slices of channels take turns.
        parts: Parts, each time they are looked at.
        edges: Edges times products.
        row: Bytes of a row of their signals.
        signal: Bytes of signals times layers.
        entries: Stored features that are read.
        multiplied: Stored features times channels.
    """

    steps: int
    parts: int
    edges: float
    row: int
    signal: float
    entries: float
    multiplied: float


@dataclass(frozen=True)
class Seconds:
    """Where the time of a step goes.

    Attributes:
        products: Sums over neighbours.
        signals: All else that is done to signals: scalings, masks, sums.
        features: The transform and the masks before it.
        launches: What takes its time whatever the size.
        halo: Rows of other processes on the wire.
        gradients: Sums on the wire.
        scores: Logits on the wire.
        messages: What messages take whatever their size.
    """

    products: float
    signals: float
    features: float
    launches: float
    halo: float
    gradients: float
    scores: float
    messages: float

    @property
    def computing(self) -> float:
        """What is computed."""
        return self.products + self.signals + self.features + self.launches

    @property
    def wire(self) -> float:
        """What travels."""
        return self.halo + self.gradients + self.scores + self.messages

    @property
    def total(self) -> float:
        """All of it: what is computed and what travels take turns."""
        return self.computing + self.wire

    @property
    def most(self) -> str:
        """What takes most: the name of an attribute."""
        return max(
            (each.name for each in fields(self)), key=lambda name: float(getattr(self, name))
        )


@dataclass(frozen=True)
class Forecast:
    """What a step costs on a mesh.

    Attributes:
        mesh: Groups of nodes times slices of channels.
        memory: Of the process with most.
        received: Bytes that a process receives.
        seconds: Where the time goes.
        channels_at_once: Channels that go through the layers together; None for all of a process.
        parts_at_once: Parts whose graph and features are in memory together; None for all.
        room: Bytes that a process may take; None if any.
    """

    mesh: MeshShape
    memory: Memory
    received: Received
    seconds: Seconds
    channels_at_once: int | None = None
    parts_at_once: int | None = None
    room: int | None = None

    @property
    def fits(self) -> bool:
        """Whether the memory suffices."""
        return self.room is None or self.memory.total <= self.room

    @property
    def bottleneck(self) -> str:
        """What to change first: `memory`, `wire` or `computing`."""
        if not self.fits:
            return "memory"
        return "wire" if self.seconds.wire > self.seconds.computing else "computing"


def forecast(work: Workload, mesh: MeshShape, hardware: Hardware) -> Forecast:
    """What a step costs on this mesh, in the first way that fits into memory.

    That is all at once if it can be, else slices of the channels in turn, else also one part after
    another from memory maps. Where nothing fits it is the last way.

    Raises:
        SettingsError: The mesh has more groups or slices than there are parts or channels, or
            nothing is known of the wire.
    """
    _check(work, mesh, hardware)
    share = work.share(mesh.nodes)
    own = _own_channels(work, mesh)
    for width, part in _ways(work, mesh, own):
        memory = _memory(work, share, mesh, own, width, part)
        made = Forecast(
            mesh,
            memory,
            _received(work, share, mesh, own, is_sliced=width < own),
            _seconds(work, share, mesh, hardware, own, width),
            width if width < own else None,
            part,
            hardware.memory,
        )
        if made.fits:
            break
    return made


def forecasts(work: Workload, processes: int, hardware: Hardware) -> list[Forecast]:
    """What a step costs on every mesh of so many processes, nodes alone first.

    Raises:
        SettingsError: There is no such mesh.
    """
    meshes = [
        MeshShape(processes // slices, slices)
        for slices in range(1, processes + 1)
        if processes % slices == 0
    ]
    possible = [mesh for mesh in meshes if _problem(work, mesh) is None]
    if not possible:
        raise SettingsError(str(_problem(work, meshes[0])))
    return [forecast(work, mesh, hardware) for mesh in possible]


def best(choices: list[Forecast]) -> Forecast:
    """The fastest that fits into memory; where none does, the one that needs least."""
    fitting = [each for each in choices if each.fits]
    if fitting:
        return min(fitting, key=lambda each: each.seconds.total)
    return min(choices, key=lambda each: each.memory.total)


def choose_mesh(work: Workload, processes: int, hardware: Hardware) -> MeshShape:
    """The mesh of so many processes on which a step is fastest, of those that fit into memory."""
    return best(forecasts(work, processes, hardware)).mesh


def _problem(work: Workload, mesh: MeshShape) -> str | None:
    """Why there is no such mesh; None where there is."""
    if work.num_parts is not None and mesh.nodes > work.num_parts:
        return (
            f"The mesh {mesh} has more groups of nodes than there are parts, {work.num_parts}; cut "
            "the graph into more."
        )
    if mesh.nodes > work.num_nodes:
        return f"The mesh {mesh} has more groups of nodes than there are nodes, {work.num_nodes}."
    if mesh.channels > ceil(work.channels / _UNIT):
        return (
            f"The mesh {mesh} has too many slices of {work.channels} channels, of which {_UNIT} "
            "stay together."
        )
    return None


def _check(work: Workload, mesh: MeshShape, hardware: Hardware) -> None:
    problem = _problem(work, mesh)
    if problem is not None:
        raise SettingsError(problem)
    if mesh.size > 1 and hardware.wire is None:
        raise SettingsError(
            f"Nothing is known of the wire between processes of {hardware.name}; name its "
            "rate, such as 10Gbit/s, or measure with several processes."
        )


def _own_channels(work: Workload, mesh: MeshShape) -> int:
    """Channels of the process that has most of them."""
    return min(work.channels, _UNIT * ceil(ceil(work.channels / _UNIT) / mesh.channels))


def _ways(work: Workload, mesh: MeshShape, own: int) -> Iterator[tuple[int, int | None]]:
    """Channels at once and parts at once, the quickest way first."""
    widths = [own]
    while widths[-1] % (2 * _UNIT) == 0:
        widths.append(widths[-1] // 2)
    yield from ((width, None) for width in widths)
    if work.parts_for(mesh.nodes) > mesh.nodes:
        yield from ((width, 1) for width in widths)


def _memory(
    work: Workload, share: Share, mesh: MeshShape, own: int, width: int, part: int | None
) -> Memory:
    size = work.number_bytes
    memory = share.memory(num_layers=work.num_layers, channels=width, number_bytes=size)
    if width < own:
        # What the classifier sees of every slice.
        labelled = ceil(work.num_labelled / mesh.nodes) * own * size
        memory = replace(memory, signals=memory.signals + labelled)
    if part is not None:
        parts = work.parts_for(mesh.nodes) // mesh.nodes
        # Signals that wait for the backward pass lie in files too, one a layer.
        waiting = work.num_layers * share.nodes * width * size
        memory = replace(
            memory,
            graph=memory.graph // parts,
            features=memory.features // parts,
            signals=memory.signals - waiting,
        )
    return memory


def _received(
    work: Workload, share: Share, mesh: MeshShape, own: int, *, is_sliced: bool
) -> Received:
    """Bytes along both axes."""
    others, other_slices = mesh.nodes - 1, mesh.channels - 1
    halo = share.bytes_received(
        num_layers=work.num_layers,
        channels=own,
        number_bytes=work.number_bytes,
        forward=3 if is_sliced else 2,
    )
    spans = spans_of(work.parts_for(mesh.nodes), mesh.nodes)
    branches = max(map(len, branches_of(spans)))
    weights = own * (work.num_features + work.num_classes)
    # Biases, scalars and scores.
    doubles = own + work.num_classes + work.num_layers + _NUMBERS_OF_SUMS
    rows, trained = (ceil(n / mesh.nodes) for n in (work.num_labelled, work.num_train))
    return Received(
        halo=halo,
        gradients=others * branches * (_FLOAT * weights + _DOUBLE * doubles),
        # And the gradients of all layers' scalars.
        scores=other_slices * _FLOAT * ((rows + trained) * work.num_classes + work.num_layers),
    )


def units_of(work: Workload, share: Share, groups: int, own: int, width: int) -> Units:
    """What the process with most does in a step, `width` of its own channels at a time."""
    turns, row = ceil(own / width), width * work.number_bytes
    passes, layers = _passes(turns), work.num_layers
    edges = share.edges / (2 if work.is_directed else 1)
    entries = work.feature_entries / groups
    return Units(
        steps=turns,
        parts=turns * ceil(work.parts_for(groups) / groups),
        edges=turns * edges * passes * layers,
        row=row,
        # The transform and the readout come to one more layer.
        signal=turns * share.nodes * row * (layers + 1) * passes / _PASSES,
        entries=turns * entries,
        multiplied=entries * own * passes / _PASSES,
    )


def _passes(turns: int) -> int:
    return _PASSES if turns == 1 else _PASSES_SLICED


def _seconds(
    work: Workload, share: Share, mesh: MeshShape, hardware: Hardware, own: int, width: int
) -> Seconds:
    units = units_of(work, share, mesh.nodes, own, width)
    of_entry, of_product = (
        (hardware.sparse_feature, hardware.sparse_multiply)
        if work.is_sparse
        else (hardware.feature, hardware.multiply)
    )
    computing = Seconds(
        products=1e-9 * units.edges * hardware.edge_time(units.row, share.nodes + share.halo),
        signals=1e-9 * units.signal * hardware.signal,
        features=1e-9 * (units.entries * of_entry + units.multiplied * of_product),
        launches=units.steps * hardware.step + units.parts * hardware.part,
        halo=0.0,
        gradients=0.0,
        scores=0.0,
        messages=0.0,
    )
    if mesh.size == 1:
        return computing
    received = _received(work, share, mesh, own, is_sliced=units.steps > 1)
    # Groups of nodes follow each other by rank, so they are neighbours in a machine.
    along_nodes, all_over = hardware.bandwidth(mesh.nodes), hardware.bandwidth(mesh.size)
    return replace(
        computing,
        halo=received.halo / along_nodes,
        gradients=received.gradients / along_nodes,
        scores=received.scores / all_over,
        messages=_messages(work, mesh, units.steps, width) * hardware.latency,
    )


def num_messages(work: Workload, mesh: MeshShape) -> int:
    """Messages a step, one after the other, with all channels of a process at once."""
    return _messages(work, mesh, 1, _own_channels(work, mesh)) if mesh.size > 1 else 0


def _messages(work: Workload, mesh: MeshShape, turns: int, width: int) -> int:
    number = _MEETING * ceil(log2(mesh.size))
    if mesh.nodes > 1:
        layers = turns * work.num_layers
        # Of a large graph a few channels at a time.
        portions = ceil(width / channels_at_once(work.num_nodes, width, is_alone=False))
        number += layers * _passes(turns) * portions
        number += (_MESSAGES + layers) * ceil(log2(mesh.nodes))
    if mesh.channels > 1:
        number += _MESSAGES_OF_SLICES * ceil(log2(mesh.channels))
    return number
