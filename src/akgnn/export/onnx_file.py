"""A program for any graph as an ONNX file, and a look at what is in it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

from akgnn.errors import ExportError, MissingExtraError
from akgnn.export.program import FAILURES, Case, Run, inputs_of, quietly
from akgnn.graph import Graph

INPUTS = ("x", "edge_index", "edge_weight")
OUTPUT = "logits"
# Constants of a few numbers, such as a shape, say nothing of a graph.
_SMALL = 8
_SIZES = {"x": {0: "nodes"}, "edge_index": {1: "edges"}, "edge_weight": {0: "edges"}}


def write_onnx(
    program: ExportedProgram, model: nn.Module, file: Path, inputs: Sequence[str], example: Case
) -> None:
    """Write the program as ONNX; refuse one that would need a matrix of nodes by nodes."""
    try:
        import onnx
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("An ONNX file", "onnx") from error
    try:
        with quietly("torch", "onnxscript", "onnx_ir"):
            made = torch.onnx.export(
                program, dynamo=True, verbose=False, input_names=inputs, output_names=[OUTPUT]
            )
            assert made is not None
            content = made.model_proto
    except FAILURES as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise ExportError(f"torch.onnx cannot convert it: {reason}") from error
    largest = max((tensor.numel() for tensor in model.state_dict().values()), default=0)
    check_constants(content, largest)
    check_growth(content, inputs, *example)
    _name_sizes(content.graph)
    onnx.save(content, file)


def check_constants(content: Any, largest: int) -> None:
    """Refuse an ONNX model with a constant of more numbers than `largest`."""
    for constant in content.graph.initializer:
        if torch.Size(constant.dims).numel() > max(largest, _SMALL):
            raise ExportError(f"the ONNX file would hold a constant of {list(constant.dims)}")


def check_growth(content: Any, inputs: Sequence[str], x: Tensor, graph: Graph) -> None:
    """Refuse an ONNX model that computes something which grows faster than the graph.

    It runs on a graph and on two copies of it side by side: what is one row a node or an edge
    doubles, a matrix of nodes by nodes quadruples.
    """
    import onnx

    watched = onnx.ModelProto()
    watched.CopyFrom(content)
    names = [name for node in content.graph.node for name in node.output if name]
    del watched.graph.output[:]
    watched.graph.output.extend(map(onnx.helper.make_empty_tensor_value_info, names))
    session = _session(watched.SerializeToString(), optimises=False)
    source, target, weight = *graph.edge_index, inputs_of(x, graph)[2]
    offset = torch.tensor([[0], [graph.num_nodes]])
    edges = torch.stack([(source + offset).view(-1), (target + offset).view(-1)])
    shapes = [
        [value.shape for value in session.run(names, _named(inputs, given))]
        for given in (inputs_of(x, graph), (x.repeat(2, 1), edges, weight.repeat(2)))
    ]
    for name, once, twice in zip(names, *shapes, strict=True):
        if torch.Size(twice).numel() > 2 * torch.Size(once).numel():
            raise ExportError(
                f"the ONNX file would compute {name!r}, which grows faster than the graph: from "
                f"{list(once)} to {list(twice)} numbers where nodes and edges double"
            )


def _name_sizes(graph: Any) -> None:
    """Call the open sizes of the inputs, and what has the same, nodes and edges."""
    names = {}
    for value in graph.input:
        for place, name in _SIZES[value.name].items():
            names[value.type.tensor_type.shape.dim[place].dim_param] = name
    for value in (*graph.input, *graph.output, *graph.value_info):
        for size in value.type.tensor_type.shape.dim:
            if size.dim_param in names:
                size.dim_param = names[size.dim_param]


def onnx_runner(file: Path, inputs: Sequence[str]) -> Run:
    """Run an ONNX file on features and a graph."""
    session = _session(str(file))

    def run(x: Tensor, graph: Graph) -> Tensor:
        found = session.run([OUTPUT], _named(inputs, inputs_of(x, graph)))
        return torch.from_numpy(found[0])

    return run


def _session(model: str | bytes, *, optimises: bool = True) -> Any:
    import onnxruntime as runtime

    options = runtime.SessionOptions()
    if not optimises:
        # Every value has to be there to be looked at.
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _named(inputs: Sequence[str], given: Sequence[Tensor]) -> dict[str, Any]:
    return {name: tensor.numpy() for name, tensor in zip(inputs, given, strict=False)}
