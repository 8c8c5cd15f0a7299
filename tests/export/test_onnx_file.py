import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from akgnn.errors import ExportError
from akgnn.export.onnx_file import check_constants, check_growth
from akgnn.graph import Graph

GRAPH = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=4)


def make_content(*nodes, constants=()):
    """A model from `x` and `edge_index` to `logits`."""
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["nodes", 2]),
        helper.make_tensor_value_info("edge_index", TensorProto.INT64, [2, "edges"]),
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["nodes", 2])]
    graph = helper.make_graph(list(nodes), "model", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def check(content):
    check_growth(content, ("x", "edge_index"), torch.rand(4, 2), GRAPH)


def test_what_is_one_row_a_node_or_an_edge_may_be_computed():
    check(
        make_content(
            helper.make_node("Transpose", ["edge_index"], ["pairs"], perm=[1, 0]),
            helper.make_node("Relu", ["x"], ["logits"]),
        )
    )


def test_a_matrix_of_nodes_by_nodes_is_found_on_the_way():
    content = make_content(
        helper.make_node("Transpose", ["x"], ["turned"], perm=[1, 0]),
        helper.make_node("MatMul", ["x", "turned"], ["all_pairs"]),
        helper.make_node("MatMul", ["all_pairs", "x"], ["logits"]),
    )
    with pytest.raises(ExportError, match=r"'all_pairs', .* from \[4, 4\] to \[8, 8\] numbers"):
        check(content)


def test_a_constant_may_not_be_larger_than_what_was_learned():
    constant = numpy_helper.from_array(np.zeros((5, 5), np.float32), "constant")
    node = onnx.helper.make_node("Relu", ["x"], ["logits"])
    content = make_content(node, constants=[constant])
    check_constants(content, 25)
    with pytest.raises(ExportError, match=r"constant of \[5, 5\]"):
        check_constants(content, 24)
