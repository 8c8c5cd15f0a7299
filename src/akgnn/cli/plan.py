"""`akgnn plan`."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from akgnn.cli import options
from akgnn.cli.show_plan import show_plan
from akgnn.cli.units import parse_bytes, parse_rate
from akgnn.errors import SettingsError, UnknownNameError
from akgnn.runs.request import DATA, MODEL, OUTPUT, TRAINING

if TYPE_CHECKING:
    from akgnn.distributed.hardware import Hardware
    from akgnn.distributed.mesh import MeshShape
    from akgnn.distributed.workload import Workload

_NUMBER_BYTES = {"float32": 4, "bfloat16": 2}
# Numbers that no graph has.
_MOST = 10**15
# How long processes that measure wait for each other.
_TIMEOUT = 300.0


def plan(
    parts: Annotated[
        Path | None, typer.Argument(help="Folder of parts; without it say the graph's sizes.")
    ] = None,
    num_nodes: Annotated[
        float | None, options.option(DATA, "Nodes of a graph not yet cut, such as 111e6.")
    ] = None,
    num_edges: Annotated[
        float | None, options.option(DATA, "Its edges, each direction counted.")
    ] = None,
    num_features: Annotated[float | None, options.option(DATA, "Its features a node.")] = None,
    num_classes: Annotated[float | None, options.option(DATA, "Its classes.")] = None,
    labelled: Annotated[
        float | None, options.option(DATA, "Share of its nodes that have labels to read.  [1]")
    ] = None,
    cut: Annotated[
        str | None,
        options.option(
            DATA,
            "How it will be cut: good, random, or rows of the halo as a share of own rows, such "
            "as 0.35.  [good]",
        ),
    ] = None,
    num_layers: Annotated[int, options.option(MODEL, "Layers.")] = 5,
    hidden_channels: Annotated[int, options.option(MODEL, "Channels.")] = 64,
    dtype: Annotated[str, options.option(MODEL, "float32 or bfloat16, of signals.")] = "float32",
    processes: Annotated[int | None, options.option(TRAINING, "Number of processes.  [1]")] = None,
    mesh: Annotated[
        str | None,
        options.option(
            TRAINING,
            "Groups of nodes x slices of channels, such as 4x2.  [all of them are compared]",
            metavar="NODESxCHANNELS",
        ),
    ] = None,
    hardware: Annotated[
        str | None,
        options.option(TRAINING, "h200, cpu, or a file that --measure --out wrote.  [h200]"),
    ] = None,
    measure: Annotated[
        bool,
        options.option(
            TRAINING, "Measure this machine, between two processes if several.", "--measure"
        ),
    ] = False,
    memory: Annotated[
        str | None, options.option(TRAINING, "Memory a process, such as 139GiB.  [the hardware's]")
    ] = None,
    network: Annotated[
        str | None,
        options.option(
            TRAINING, "Rate between machines, such as 50GB/s or 200Mbit/s.  [the hardware's]"
        ),
    ] = None,
    per_machine: Annotated[
        int | None, options.option(TRAINING, "Processes a machine.  [the hardware's]")
    ] = None,
    device: options.Device = "auto",
    out: Annotated[Path | None, options.option(OUTPUT, "File for what --measure found.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell memory, bytes on the wire and seconds of a training step before it is run.

    All meshes of so many processes are compared, nodes x channels; the fastest that fits into
    memory is marked.

    Example: akgnn plan pubmed-parts --processes 4 --measure
    """
    if dtype not in _NUMBER_BYTES:
        raise UnknownNameError("dtype", dtype, _NUMBER_BYTES)
    options.check_range("--processes", processes, 1, 1_000_000)
    options.check_range("--per-machine", per_machine, 1, 1_000_000)
    options.check_range("--num-layers", num_layers, 1, 10_000)
    options.check_range("--hidden-channels", hidden_channels, 1, 1_000_000)
    changes: dict[str, Any] = {} if per_machine is None else {"per_machine": per_machine}
    if memory is not None:
        changes["memory"] = parse_bytes("--memory", memory)
    rate = None if network is None else parse_rate("--network", network)
    if measure and hardware is not None:
        raise SettingsError("--measure finds the figures that --hardware would name; give one.")
    if out is not None and not measure:
        raise SettingsError("--out keeps what --measure finds; give both.")
    sizes = {
        "--num-nodes": num_nodes,
        "--num-edges": num_edges,
        "--num-features": num_features,
        "--num-classes": num_classes,
    }
    about = {**sizes, "--labelled": labelled, "--cut": cut}
    model = {
        "num_layers": num_layers,
        "channels": hidden_channels,
        "number_bytes": _NUMBER_BYTES[dtype],
    }
    given = [name for name, value in about.items() if value is not None]
    if parts is not None and given:
        raise SettingsError(
            f"{given[0]} is of a graph not yet cut; a folder of parts says its own."
        )
    work = None
    if parts is not None or given or not measure:
        work = _workload(parts, sizes, 1.0 if labelled is None else labelled, cut, model)
    number = processes or 1
    shape = None if mesh is None else _shape(number, mesh)
    figures = _figures(hardware, measure, number, work, device, rate)
    if figures is None:
        # A process of torchrun that only helped to measure.
        return
    figures = replace(figures, **changes)
    if rate is not None and not measure:
        figures = replace(figures, wire=rate)
    if out is not None:
        from akgnn.distributed.hardware import write_hardware

        write_hardware(out, figures)
    show_plan(work, shape, number, figures, dtype, out, as_json)


def _shape(processes: int, mesh: str) -> "MeshShape":
    from akgnn.distributed.mesh import shape_for

    return shape_for(processes, mesh)


def _workload(
    parts: Path | None,
    sizes: dict[str, float | None],
    labelled: float,
    cut: str | None,
    model: dict[str, int],
) -> "Workload":
    from akgnn.distributed.folder import open_parts
    from akgnn.distributed.workload import cut_already, planned

    if parts is not None:
        return cut_already(open_parts(parts, check=False), **model)
    missing = [name for name, value in sizes.items() if value is None]
    if missing:
        raise SettingsError(
            f"Name a folder of parts, or say the sizes of a graph: {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing."
        )
    whole = {name[2:].replace("-", "_"): _whole(name, value) for name, value in sizes.items()}
    if not 0 <= labelled <= 1:
        raise SettingsError(f"--labelled is a share of the nodes, from 0 to 1; got {labelled:g}.")
    return planned(**whole, labelled=labelled, cut=_cut(cut or "good"), **model)


def _whole(option: str, value: float | None) -> int:
    least = 0 if option == "--num-edges" else 1
    # Not a number compares with nothing.
    if value is None or not (least <= value <= _MOST and value == int(value)):
        raise SettingsError(f"{option} must be an integer from {least} to 1e15, got {value:g}.")
    return int(value)


def _cut(text: str) -> str | float:
    from akgnn.distributed.workload import CUTS

    if text in CUTS:
        return text
    try:
        ratio = float(text)
    except ValueError:
        raise UnknownNameError("cut", text, CUTS) from None
    if not 0 <= ratio <= _MOST:
        raise SettingsError(f"--cut as a share of own rows must be from 0 on, got {text}.")
    return ratio


def _figures(
    name: str | None,
    measure: bool,
    processes: int,
    work: "Workload | None",
    device: str,
    rate: float | None,
) -> "Hardware | None":
    """The hardware: known, read or measured; None in processes that only helped to measure."""
    from akgnn.distributed.hardware import H200, HARDWARE, read_hardware

    if not measure:
        if name is None or name in HARDWARE:
            return H200 if name is None else HARDWARE[name]
        if not Path(name).exists():
            raise UnknownNameError("hardware", name, HARDWARE)
        return read_hardware(Path(name))
    from akgnn.distributed.calibrate import measure as measured
    from akgnn.distributed.calibrate import measure_here
    from akgnn.distributed.launch import is_worker, joined, own_device
    from akgnn.machine.device import choose_device, keep_freed_memory

    place = own_device(choose_device(device))
    keep_freed_memory()
    nodes, halo = None, None
    if work is not None:
        nodes = work.num_nodes // processes
        # Without a mesh along the nodes it does not matter.
        groups = min(processes, work.num_parts or work.num_nodes)
        halo = work.share(groups).halo
    if is_worker():
        with joined(place, _TIMEOUT) as group:
            sharing = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
            found = measured(group, place, nodes=nodes, halo=halo, link=rate, sharing=sharing)
            return found if group.rank == 0 else None
    return measure_here(processes, place, nodes=nodes, halo=halo, link=rate)
