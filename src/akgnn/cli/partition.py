"""`akgnn partition`."""

import os
from contextlib import ExitStack
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Annotated, Any

from akgnn.cli import options
from akgnn.cli.flags import in_flags
from akgnn.cli.progress import Lines
from akgnn.cli.request_options import with_request
from akgnn.cli.show import print_json, print_pairs, print_table
from akgnn.cli.terminal import complain, say
from akgnn.errors import SettingsError
from akgnn.files import check_new, scratch_folder
from akgnn.runs.request import DATA, OF_DATA, OUTPUT, TABLES, Request

if TYPE_CHECKING:
    from akgnn.data.node_data import NodeData
    from akgnn.distributed.costs import CutCosts, Share
    from akgnn.distributed.folder import FolderParts
    from akgnn.distributed.parts import PartsFacts
    from akgnn.runs.plan import RunPlan

# Cuts that look at rows one after another.
_WITH_LITTLE_MEMORY = ("order", "hash")
# METIS holds several copies of the graph, of ever coarser nodes: 232 GB of 3.2 G directions.
_METIS_BYTES = 72


@with_request(OF_DATA)
def partition(
    request: Request,
    arrays: Annotated[
        Path | None,
        options.option(
            TABLES,
            "Folder with x.npy, y.npy and edges.npy in place of tables; nodes count from 0.",
        ),
    ] = None,
    parts: Annotated[
        int,
        options.option(DATA, "Number of parts, at least as many as there will be processes."),
    ] = 24,
    cut: Annotated[
        str | None,
        options.option(
            DATA,
            "metis cuts few edges; order takes nodes as they are numbered; hash deals them out.  "
            "[metis if installed, else order]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        options.option(OUTPUT, "New folder for the parts; without it nothing is written."),
    ] = None,
    num_layers: Annotated[
        int, options.option(OUTPUT, "Layers that bytes and memory are told for.")
    ] = 5,
    hidden_channels: Annotated[
        int, options.option(OUTPUT, "Channels that bytes and memory are told for.")
    ] = 64,
    as_json: options.AsJson = False,
) -> None:
    """Cut a graph into parts, for several processes or a small memory.

    Each part has the rows of some nodes with their features, labels and split, as plain arrays.

    Example: akgnn partition --dataset pubmed --parts 8 --out pubmed-parts
    """
    # Read when pyarrow is first imported: its own allocator would set a gigabyte aside.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    import torch

    from akgnn.cli.main import flags_of_commands
    from akgnn.data.array_folder import num_edges
    from akgnn.distributed.cut import check_num_parts, cut_graph
    from akgnn.distributed.parts import facts_of
    from akgnn.distributed.write import costs_of, write_parts
    from akgnn.runs.hints import hints
    from akgnn.runs.memory import memory_errors_explained
    from akgnn.runs.outcomes import plan_asked, table_settings

    check_num_parts(parts)
    options.check_range("--num-layers", num_layers, 1, 10_000)
    options.check_range("--hidden-channels", hidden_channels, 1, 1_000_000)
    if out is not None:
        check_new(out)
    _check_cut(cut)
    data_root = request.data_root
    if arrays is not None and (request.dataset or table_settings(request)):
        raise SettingsError("Name a data set, tables or --arrays, not several of them.")
    plan = plan_asked(request)
    with ExitStack() as stack, memory_errors_explained(plan, torch.device("cpu")):
        expected = _expected_edges(plan) if arrays is None else 2 * num_edges(arrays)
        if cut is None and expected is not None:
            cut = _chosen_cut(expected)
        folder = None
        if arrays is not None or (cut in _WITH_LITTLE_MEMORY and expected is not None):
            # On the disk that the parts go to: other folders may lie in memory.
            beside = Path(gettempdir()) if out is None else out.parent
            folder = stack.enter_context(scratch_folder(beside))
        data = _load(plan, data_root, arrays, folder)
        for hint in hints(plan, data):
            complain(in_flags(str(hint), flags_of_commands(), "partition"))
        cut = cut or _chosen_cut(data.graph.num_edges)
        owner = cut_graph(data.graph, parts, cut)
        if out is None:
            facts, costs = facts_of(data, owner), costs_of(data, owner, cut=cut)
        else:
            lines = Lines()
            written = write_parts(
                out,
                data,
                owner,
                cut=cut,
                on_part=lambda index: lines.tell(lambda: f"Wrote {index + 1} of {parts} parts."),
            )
            facts, costs = written.facts, written.costs
    if as_json:
        shown = None if out is None else str(out)
        print_json(parts_object(facts, costs, num_layers, hidden_channels) | {"out": shown})
        return
    print_costs(facts, costs, num_layers, hidden_channels)
    say()
    if out is None:
        say("Nothing was written; --out DIR writes the parts.")
    else:
        say(f"Written to {out}; see: akgnn inspect {out}")


def _load(
    plan: "RunPlan", data_root: Path | str | None, arrays: Path | None, folder: Path | None
) -> "NodeData":
    """The data as a run would see them, but without labels among the features."""
    if arrays is None or folder is None:
        return plan.load(data_root, folder=folder).with_label_inputs(False)
    from akgnn.data.array_folder import read_arrays

    run = plan.run
    return read_arrays(
        arrays,
        folder,
        split=run.split,
        split_seed=run.split_seed,
        features=run.features,
        direction=run.direction,
    )


def _check_cut(cut: str | None) -> None:
    """Refuse a cut that is not to be had, before data are loaded for it."""
    from akgnn.distributed.cut import CUTS, has_metis
    from akgnn.errors import MissingExtraError, UnknownNameError

    if cut is not None and cut not in CUTS:
        raise UnknownNameError("cut", cut, CUTS)
    if cut == "metis" and not has_metis():
        raise MissingExtraError("--cut metis", "cut")


def _expected_edges(plan: "RunPlan") -> int | None:
    """About how many directions a graph has that need not be in memory; None of other graphs."""
    from akgnn.data.catalogue import large_settings

    if plan.tables is not None:
        edges = plan.tables.edges
        files = [Path(file) for file in ([edges] if isinstance(edges, str) else edges)]
        # An edge takes 8 bytes or more, and counts in both directions.
        sizes = [file.stat().st_size for file in files if file.is_file()]
        return sum(sizes) // 4 if sizes else None
    large = large_settings(plan.run.dataset)
    return None if large is None else round(large.num_nodes * large.degree)


def _chosen_cut(num_edges: int) -> str:
    """The cut where none was asked for; if it is not METIS a line says why."""
    import torch

    from akgnn.distributed.cut import has_metis
    from akgnn.machine.device import free_bytes, size_text

    needed, free = _METIS_BYTES * num_edges, free_bytes(torch.device("cpu"))
    if not has_metis():
        why = ", which cuts fewer edges, is not installed (pip install 'akgnn[cut]')"
    elif free is not None and needed > free:
        why = f" would need about {size_text(needed)}, and {size_text(free)} are free"
    else:
        return "metis"
    complain(f"Cut by order: METIS{why}.")
    return "order"


def parts_object(
    facts: "PartsFacts", costs: "CutCosts", num_layers: int, hidden_channels: int
) -> dict[str, Any]:
    """A cut in one object."""
    from akgnn.codec import to_json

    told = to_json(facts)
    del told["recipe"]
    content = to_json(costs)
    names = "step_bytes", "step_bytes_with_evaluation", "memory_bytes"
    content["processes"] = [
        to_json(share) | dict(zip(names, _sizes(share, num_layers, hidden_channels), strict=True))
        for share in costs.shares
    ]
    del content["shares"]
    model = {"num_layers": num_layers, "hidden_channels": hidden_channels}
    return {"parts": facts.num_parts, **content, **told, **model}


def _sizes(share: "Share", num_layers: int, channels: int) -> tuple[int, int, int]:
    """Bytes a step receives, without and with evaluation, and the memory it takes."""
    step, evaluated = (
        share.bytes_received(num_layers=num_layers, channels=channels, forward=forward)
        for forward in (1, 2)
    )
    return step, evaluated, share.memory(num_layers=num_layers, channels=channels).total


def print_costs(
    facts: "PartsFacts", costs: "CutCosts", num_layers: int, hidden_channels: int
) -> None:
    """Print what a cut comes to, for people."""
    from akgnn.machine.device import size_text

    kind = "" if facts.is_symmetric else ", directed"
    say(
        f"{facts.name}: {facts.num_nodes:,} nodes, {facts.num_edges:,} edges{kind}, "
        f"{facts.num_features:,} features, {facts.num_classes} classes; "
        f"split {facts.split_name}:{facts.split_fingerprint}"
    )
    say(f"{facts.num_parts} parts by {costs.cut}")
    print_pairs(
        [
            ("work balance", f"{costs.work_balance:.2f}   (the largest part over the mean)"),
            ("edge cut", f"{100 * costs.edge_cut:.1f} %   (edges between parts)"),
            ("largest halo", f"{costs.largest_halo:,} rows   (that a part needs of others)"),
        ]
    )
    say()
    rows = [
        [
            str(share.processes),
            f"{share.nodes:,}",
            f"{max(share.halo, share.transpose_halo):,}",
            *map(size_text, _sizes(share, num_layers, hidden_channels)),
        ]
        for share in costs.shares
    ]
    heads = ["processes", "nodes", "halo", "step", "+ evaluation", "memory"]
    print_table(heads, rows, "rrrrrr")
    say(
        "Of the process with most: nodes, rows that it needs of others, what it receives in a "
        f"training step, with evaluation, and its memory; {num_layers} layers, {hidden_channels} "
        "channels, float32."
    )


def print_parts(parts: "FolderParts", as_json: bool) -> None:
    """Print what a folder of parts holds, once all of it was checked."""
    if as_json:
        print_json(parts_object(parts.facts, parts.costs, 5, 64) | {"out": str(parts.path)})
        return
    print_costs(parts.facts, parts.costs, 5, 64)
    say()
    wrote = parts.manifest.versions.get("akgnn", "?")
    say(f"All checksums fit. Written by akgnn {wrote}; content {parts.facts.content[:16]}")
