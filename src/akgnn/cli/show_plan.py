"""What `akgnn plan` prints: the hardware, all meshes, and the one to take."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from akgnn.cli.layout import Styled
from akgnn.cli.show import print_json, print_pairs, print_table
from akgnn.cli.terminal import say

if TYPE_CHECKING:
    from akgnn.distributed.forecast import Forecast
    from akgnn.distributed.hardware import Hardware
    from akgnn.distributed.mesh import MeshShape
    from akgnn.distributed.workload import Workload

# What takes most, in the words of the table of a step.
_WORDS = {
    "products": "sums over neighbours",
    "signals": "other work on signals",
    "features": "the transform of the features",
    "launches": "starting operations",
    "halo": "rows of other parts",
    "gradients": "sums of gradients",
    "scores": "scores of labelled nodes",
    "messages": "the latency of messages",
}


def show_plan(
    work: "Workload | None",
    shape: "MeshShape | None",
    processes: int,
    hardware: "Hardware",
    dtype: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Print the forecasts of all meshes, or of one; without work what the hardware can do."""
    from akgnn.codec import to_json
    from akgnn.distributed.forecast import best, forecast, forecasts

    content: dict[str, Any] = {"hardware": to_json(hardware)}
    if work is None:
        if as_json:
            print_json(content)
        else:
            _print_hardware(hardware, out)
        return
    choices = (
        forecasts(work, processes, hardware) if shape is None else [forecast(work, shape, hardware)]
    )
    chosen = best(choices)
    if as_json:
        meshes = [_object(each) for each in choices]
        print_json(
            content | {"chosen": str(chosen.mesh) if chosen.fits else None, "meshes": meshes}
        )
        return
    _print_work(work, hardware, dtype)
    say()
    _print_table(choices, chosen)
    say()
    _print_choice(chosen)
    if out is not None:
        say(f"What was measured is kept in {out}; take it with: --hardware {out}")


def _object(each: "Forecast") -> dict[str, Any]:
    """A forecast in one object."""
    from akgnn.codec import to_json

    seconds, memory, received = each.seconds, each.memory, each.received
    return {
        "mesh": str(each.mesh),
        "fits": each.fits,
        "bottleneck": each.bottleneck,
        "most": seconds.most,
        "channels_at_once": each.channels_at_once,
        "parts_at_once": each.parts_at_once,
        "memory_bytes": to_json(memory) | {"total": memory.total},
        "received_bytes": to_json(received) | {"total": received.total},
        "seconds": to_json(seconds)
        | {"computing": seconds.computing, "wire": seconds.wire, "total": seconds.total},
    }


def _print_hardware(hardware: "Hardware", out: Path | None) -> None:
    wire = hardware.wire
    edges = ", ".join(
        f"{time:.3g} ns at {row} bytes a row"
        for row, time in zip(hardware.row_bytes, hardware.edge, strict=True)
    )
    say(f"{hardware.name}, {hardware.source}")
    print_pairs(
        [
            ("step", f"{_time(hardware.step)}, and {_time(hardware.part)} a part"),
            ("edge, product", edges),
            ("signals", f"{hardware.signal:.3g} ns a byte and layer"),
            (
                "wire",
                "not measured: one process"
                if wire is None
                else f"{wire * hardware.efficiency / 1e6:,.0f} MB/s, {_time(hardware.latency)} a "
                "message",
            ),
        ]
    )
    if out is not None:
        say(f"Kept in {out}; take it with: akgnn plan --hardware {out}")


def _print_work(work: "Workload", hardware: "Hardware", dtype: str) -> None:
    from akgnn.machine.device import size_text

    kind = "" if work.num_parts is None else f" in {work.num_parts} parts"
    say(
        f"{work.num_nodes:,} nodes, {work.num_edges:,} edges{kind}, {work.num_features:,} "
        f"features, {work.num_classes:,} classes; {work.num_layers} layers, {work.channels} "
        f"channels, {dtype}"
    )
    room = "" if hardware.memory is None else f"; {size_text(hardware.memory)} a process"
    say(f"On {hardware.name}: {hardware.source}{room}")


def _print_table(choices: "list[Forecast]", chosen: "Forecast") -> None:
    from akgnn.machine.device import size_text

    heads = [
        "mesh", "memory", "graph", "features", "signals", "halo", "received", "computing", "wire",
        "step", "bottleneck",
    ]  # fmt: skip
    # Said only where a mesh needs it.
    more = {
        "channels at once": [each.channels_at_once for each in choices],
        "parts at once": [each.parts_at_once for each in choices],
    }
    more = {head: values for head, values in more.items() if any(values)}
    rows = []
    for number, each in enumerate(choices):
        memory, seconds = each.memory, each.seconds
        sizes = memory.total, memory.graph, memory.features, memory.signals, memory.halo
        row = [
            f"{each.mesh}{' *' * (each is chosen and each.fits)}",
            *(size_text(size) if size else "–" for size in (*sizes, each.received.total)),
            *map(_time, (seconds.computing, seconds.wire, seconds.total)),
            each.bottleneck,
            *(str(values[number] or "all") for values in more.values()),
        ]
        rows.append([Styled(cell, "green") for cell in row] if each is chosen else row)
    print_table([*heads, *more], rows, "lrrrrrrrrrl" + "r" * len(more))
    say(
        "Of the process with most: its memory beside the interpreter, what it receives in a step "
        "with evaluation, and the seconds of that; groups of nodes x slices of channels."
    )


def _print_choice(chosen: "Forecast") -> None:
    from akgnn.machine.device import size_text

    seconds = chosen.seconds
    if not chosen.fits:
        say(
            f"Nothing fits into memory; {chosen.mesh} needs least, "
            f"{size_text(chosen.memory.total)} a process. More processes, fewer channels or "
            "bfloat16 need less."
        )
        return
    most = getattr(seconds, seconds.most)
    say(
        f"Fastest that fits: {chosen.mesh}, {_time(seconds.total)} a step. The bottleneck is "
        f"{chosen.bottleneck}; most time goes to {_WORDS[seconds.most]}, {_time(most)}."
    )
    needed = [
        f"channels_at_once={chosen.channels_at_once}" * (chosen.channels_at_once is not None),
        f"parts_at_once={chosen.parts_at_once}" * (chosen.parts_at_once is not None),
    ]
    if any(needed):
        say(f"It fits with {' and '.join(filter(None, needed))} of akgnn train.")
    if chosen.parts_at_once is not None:
        say("What reading parts from a disk takes is not in the seconds.")


def _time(seconds: float) -> str:
    """Seconds for readers."""
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.0f} ms" if seconds >= 0.01 else f"{seconds * 1e3:.2f} ms"
