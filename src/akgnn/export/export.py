"""Export: a trained model to a file, kept only if it answers as the model does."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, cast

import torch
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.errors import ExportError, RunFolderError
from akgnn.export.check import Run, inputs_of, largest_difference, other_cases, own_case
from akgnn.export.onnx_file import INPUTS, onnx_runner, write_onnx
from akgnn.export.program import program_for_any_graph, program_for_graph
from akgnn.graph import Graph

Format = Literal["graph", "dynamic", "onnx"]


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
    with _replacing(file) as written:
        if form == "onnx":
            write_onnx(program, model, written, inputs, cases[1])
            run = onnx_runner(written, inputs)
        else:
            torch.export.save(program, written)
            run = program_runner(written, inputs)
        difference = largest_difference(model, run, cases)
    return Exported(file, inputs, len(cases), difference)


def program_runner(file: Path, inputs: Sequence[str]) -> Run:
    """Run a program from its file on features and a graph."""
    loaded = torch.export.load(file).module()

    def run(x: Tensor, graph: Graph) -> Tensor:
        return cast(Tensor, loaded(*inputs_of(x, graph)[: len(inputs)]))

    return run


@contextmanager
def _replacing(file: Path) -> Iterator[Path]:
    """Inside, a file to write; it takes the place of `file` unless an error comes."""
    try:
        with TemporaryDirectory(prefix=".tmp-akgnn-", dir=file.parent) as folder:
            written = Path(folder) / file.name
            yield written
            written.replace(file)
    except OSError as error:
        raise RunFolderError(f"Cannot write {file}: {error.strerror or error}.") from error
