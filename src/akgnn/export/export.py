"""Export: a trained model to a file, kept only if it answers as the model does."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.data.node_data import NodeData
from akgnn.errors import ExportError
from akgnn.export.onnx_file import INPUTS, onnx_runner, write_onnx
from akgnn.export.program import Case, Run, inputs_of, program_for_any_graph, program_for_graph
from akgnn.files import replacing
from akgnn.graph import Graph

Format = Literal["graph", "dynamic", "onnx"]
# The most that answers may differ, which are rounded after sums in another order.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Exported:
    """What was exported.

    Attributes:
        file: The file.
        inputs: Names of what it takes, in order.
        graphs: How many graphs it was checked on.
        difference: By how much its answers differ from the model's at most, as a part of the
            largest score where that is above 1.
    """

    file: Path
    inputs: tuple[str, ...]
    graphs: int
    difference: float


def export_model(model: nn.Module, data: NodeData, file: Path, form: Format = "graph") -> Exported:
    """Write a model to a file that runs without akgnn, and check the file before it is kept.

    Args:
        model: On the CPU.
        data: What it was trained on, on the CPU.
        file: Where to write; replaced if it exists.
        form: `graph` for a program (torch.export, .pt2) of x on the graph of the data; `dynamic`
            for one of x, edge_index and, where the data have weights, edge_weight, on any graph;
            `onnx` for the same as an ONNX file.

    Raises:
        ExportError: The model cannot be exported so, or the file gives other answers.
    """
    try:
        return _export(model.eval(), data, file, form)
    except ExportError as error:
        raise ExportError(f"{type(model).__name__} cannot be exported: {error}.") from error


def _export(model: nn.Module, data: NodeData, file: Path, form: Format) -> Exported:
    is_weighted = data.graph.edge_weight is not None
    x, graph = own_case(data)
    cases = [(x, graph)]
    inputs: tuple[str, ...] = INPUTS[:1]
    if form == "graph":
        program = program_for_graph(model, graph, data.num_features)
    else:
        inputs = INPUTS if is_weighted else INPUTS[:2]
        cases += other_cases(x, is_weighted=is_weighted)
        program = program_for_any_graph(model, data.num_features, is_weighted=is_weighted)
    with replacing(file) as written:
        if form == "onnx":
            write_onnx(program, model, written, inputs, cases[1])
            run = onnx_runner(written, inputs)
        else:
            # Not to the file itself: where a disk is full, torch ends the interpreter.
            blob = io.BytesIO()
            torch.export.save(program, blob)
            written.write_bytes(blob.getbuffer())
            run = program_runner(written, inputs)
        difference = largest_difference(model, run, cases)
    return Exported(file, inputs, len(cases), difference)


def program_runner(file: Path, inputs: Sequence[str]) -> Run:
    """Run a program from its file on features and a graph."""
    loaded = torch.export.load(file).module()

    def run(x: Tensor, graph: Graph) -> Tensor:
        return cast(Tensor, loaded(*inputs_of(x, graph)[: len(inputs)]))

    return run


def own_case(data: NodeData) -> Case:
    """The features and the graph of the data."""
    return (data.x.to_dense(torch.float32) if isinstance(data.x, CSR) else data.x), data.graph


def other_cases(x: Tensor, *, is_weighted: bool) -> list[Case]:
    """A second graph of another size, with isolated nodes, and a third without any edges."""
    source = torch.Generator().manual_seed(0)
    edges = torch.randint(40, (2, 90), generator=source)
    weight = torch.rand(90, generator=source) if is_weighted else None
    graph = Graph.from_edge_index(edges, weight, num_nodes=43).symmetrised()
    empty = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.int64), num_nodes=7)
    return [
        (x[torch.randint(len(x), (each.num_nodes,), generator=source)], each)
        for each in (graph, empty)
    ]


@torch.no_grad()
def largest_difference(model: nn.Module, run: Run, cases: Sequence[Case]) -> float:
    """By how much the answers differ at most, relative to the largest score if above 1.

    A difference beyond the tolerance is an error.
    """
    largest = 0.0
    for x, graph in cases:
        wanted, found = model(x, graph), run(x, graph)
        if found.shape != wanted.shape:
            raise ExportError(
                f"the exported file gives {list(found.shape)} numbers instead of "
                f"{list(wanted.shape)} on a graph of {graph.num_nodes} nodes"
            )
        difference = float((found - wanted).abs().max()) / max(1.0, float(wanted.abs().max()))
        # Written so that a NaN is refused.
        if not difference <= TOLERANCE:
            raise ExportError(
                f"the exported file gives other answers: they differ by {difference:.2g} on a "
                f"graph of {graph.num_nodes} nodes and {graph.num_edges} edges"
            )
        largest = max(largest, difference)
    return largest
