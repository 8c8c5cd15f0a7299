"""What the machines can do: how long a product, a pass over signals and a message take."""

from dataclasses import dataclass, fields
from itertools import pairwise
from math import isfinite
from pathlib import Path

from akgnn.codec import MISFITS, cause_of, from_json, to_json
from akgnn.errors import DataError
from akgnn.files import json_text, parse_json, read_file, write_file

_MOST_BYTES = 2**20


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """What one process has, and what lies between processes.

    Attributes:
        name: What it is called.
        source: Where the figures come from.
        memory: Bytes that a process may take; None if that is not known.
        step: Seconds that a step takes whatever its size.
        part: Seconds more for each part of a process.
        row_bytes: Bytes of rows, rising, whose products were timed.
        edge: Nanoseconds an edge and product, for rows of each of these sizes.
        large_edge: The same on a large graph, where it may take longer; none if it does not.
        edge_nodes: Up to how many nodes `edge` holds, and from how many on `large_edge` does.
        signal: Nanoseconds a byte of a signal and layer, for all that is done beside the product.
        feature: Nanoseconds a step for each dense feature.
        multiply: Nanoseconds a step for each dense feature and channel.
        sparse_feature: Nanoseconds a step for each stored entry of sparse features.
        sparse_multiply: Nanoseconds a step for each such entry and channel.
        wire: Bytes a second that a process can receive from another machine; None if not known.
        efficiency: What share of that an exchange attains.
        latency: Seconds a message takes whatever its size.
        inside: Bytes a second from a process of the same machine; `wire` if None.
        per_machine: Processes a machine.
    """

    name: str
    source: str
    memory: int | None = None
    step: float
    part: float = 0.0
    row_bytes: tuple[int, ...]
    edge: tuple[float, ...]
    large_edge: tuple[float, ...] = ()
    edge_nodes: tuple[int, int] = (0, 1)
    signal: float
    feature: float
    multiply: float
    sparse_feature: float
    sparse_multiply: float
    wire: float | None = None
    efficiency: float = 1.0
    latency: float = 0.0
    inside: float | None = None
    per_machine: int = 1

    def __post_init__(self) -> None:
        """Refuse figures that no machine has.

        Raises:
            ValueError: It says which.
        """
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, int | float) and not (isfinite(value) and value >= 0):
                raise ValueError(f"{each.name} must be a number from 0 on, got {value}")
        for name in ("memory", "wire", "inside", "efficiency", "per_machine"):
            if getattr(self, name) == 0:
                raise ValueError(f"{name} must be above 0")
        rows = self.row_bytes
        if not rows or list(rows) != sorted({*rows}) or rows[0] <= 0 or len(rows) != len(self.edge):
            raise ValueError("row_bytes must rise, with a time of an edge each")
        if not all(isfinite(time) and time > 0 for time in (*self.edge, *self.large_edge)):
            raise ValueError("edge and large_edge must have times above 0")
        if self.large_edge and len(rows) != len(self.large_edge):
            raise ValueError("large_edge must have a time for each of row_bytes, or none")
        if not 0 <= self.edge_nodes[0] < self.edge_nodes[1]:
            raise ValueError("edge_nodes must rise from 0 on")

    def edge_time(self, row: float, nodes: int = 0) -> float:
        """Nanoseconds an edge and product, where a row of the signal has so many bytes."""
        small = self._edge_time(self.edge, row)
        if not self.large_edge:
            return small
        low, high = self.edge_nodes
        share = min(1.0, max(0.0, (nodes - low) / (high - low)))
        return small + share * (self._edge_time(self.large_edge, row) - small)

    def _edge_time(self, times: tuple[float, ...], row: float) -> float:
        if row <= self.row_bytes[0]:
            # Narrower rows are no quicker: memory is read in pieces.
            return times[0]
        for (low, below), (high, above) in pairwise(zip(self.row_bytes, times, strict=True)):
            if row <= high:
                return below + (above - below) * (row - low) / (high - low)
        return times[-1] * row / self.row_bytes[-1]

    def bandwidth(self, processes: int) -> float:
        """Bytes a second that each of so many processes, ranks in a row, receives from the rest."""
        rate = self.wire if processes > self.per_machine else self.inside or self.wire
        assert rate is not None, "checked by who asks for several processes"
        return rate * self.efficiency


# Products: `benchmarks/row_widths.py` on 64 and 128 million nodes with 20 neighbours each
# (`results/bench/training/row-widths.json`), less what `signal` has of it. Rows of 256 bytes did
# not fit with 128 million nodes; they are supposed to take as much longer there as those of 128.
# `step` is what 0.0153 s on 2.0e7 edges (`results/bench/training/large.json`) leave beside 15
# products. Features are read three times at 4 TB/s.
H200 = Hardware(
    name="h200",
    source="one NVIDIA H200, its fused operations measured; 300 GB/s between cards of a machine, "
    "50 GB/s between machines and 20 µs a message assumed",
    memory=139 * 2**30,
    step=3.1e-3,
    row_bytes=(16, 32, 64, 128, 256),
    edge=(0.0277, 0.0297, 0.0299, 0.0361, 0.0648),
    large_edge=(0.0276, 0.0305, 0.0358, 0.0415, 0.0745),
    edge_nodes=(64_000_000, 128_000_000),
    signal=0.0015,
    feature=0.0015,
    multiply=1.5e-5,
    # An entry is gathered as an edge is: three passes over rows of 256 bytes.
    sparse_feature=0.0015,
    sparse_multiply=3 * 0.074 / 64,
    wire=50e9,
    latency=20e-6,
    inside=300e9,
    per_machine=8,
)
CPU_CORE = Hardware(
    name="cpu",
    source="one core of an AMD EPYC a process, measured on graphs of 8,000 nodes; 1 GB/s between "
    "processes and 0.3 ms a message assumed",
    step=0.0106,
    part=0.00048,
    row_bytes=(64, 256),
    edge=(1.31, 3.13),
    signal=2.0,
    feature=4.44,
    multiply=0.06,
    sparse_feature=18.2,
    sparse_multiply=0.097,
    wire=1e9,
    latency=0.3e-3,
)
HARDWARE = {"h200": H200, "cpu": CPU_CORE}
"""What is known of machines, by its name."""


def write_hardware(file: Path, hardware: Hardware) -> None:
    """Keep measured figures in a file."""
    write_file(file, (json_text(to_json(hardware), indent=1) + "\n").encode())


def read_hardware(file: Path) -> Hardware:
    """Figures that were kept in a file.

    Raises:
        DataError: They were not, or no machine has them.
    """
    try:
        return from_json(Hardware, parse_json(read_file(file, _MOST_BYTES, DataError)), "it")
    except DataError:
        raise
    except (*MISFITS, RecursionError) as error:
        cause = " ".join(cause_of(error).split()) if isinstance(error, Exception) else str(error)
        raise DataError(
            f"{file} has no figures of hardware, as `akgnn plan` writes them: {cause[:200]}."
        ) from error
