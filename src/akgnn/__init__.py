"""Adaptive-kernel graph neural networks: node classification that learns how much to smooth.

Importing this is quick: torch is loaded when the first name that needs it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from akgnn.errors import AkgnnError
from akgnn.version import __version__

if TYPE_CHECKING:
    from akgnn.csr import CSR
    from akgnn.data.catalogue import load_dataset
    from akgnn.data.node_data import NodeData
    from akgnn.data.splits import Split
    from akgnn.estimator.classifier import AKGNNClassifier
    from akgnn.explain.explanation import explain_node
    from akgnn.graph import Graph
    from akgnn.layers.ak_conv import AKConv
    from akgnn.layers.explainable import explainable
    from akgnn.layers.kernels import KERNELS, Kernel
    from akgnn.models.akgnn import AKGNN
    from akgnn.models.registry import build_model
    from akgnn.ops.adaptive import adaptive_propagate
    from akgnn.ops.dropout import Noise
    from akgnn.ops.neighbour_sum import neighbour_sum
    from akgnn.training.loop import FitResult, fit
    from akgnn.training.many import fit_many
    from akgnn.training.settings import TrainSettings

_HOME = {
    "AKConv": "akgnn.layers.ak_conv",
    "AKGNN": "akgnn.models.akgnn",
    "AKGNNClassifier": "akgnn.estimator.classifier",
    "CSR": "akgnn.csr",
    "FitResult": "akgnn.training.loop",
    "Graph": "akgnn.graph",
    "KERNELS": "akgnn.layers.kernels",
    "Kernel": "akgnn.layers.kernels",
    "NodeData": "akgnn.data.node_data",
    "Noise": "akgnn.ops.dropout",
    "Split": "akgnn.data.splits",
    "TrainSettings": "akgnn.training.settings",
    "adaptive_propagate": "akgnn.ops.adaptive",
    "build_model": "akgnn.models.registry",
    "explain_node": "akgnn.explain.explanation",
    "explainable": "akgnn.layers.explainable",
    "fit": "akgnn.training.loop",
    "fit_many": "akgnn.training.many",
    "load_dataset": "akgnn.data.catalogue",
    "neighbour_sum": "akgnn.ops.neighbour_sum",
}

__all__ = [
    "AKGNN",
    "CSR",
    "KERNELS",
    "AKConv",
    "AKGNNClassifier",
    "AkgnnError",
    "FitResult",
    "Graph",
    "Kernel",
    "NodeData",
    "Noise",
    "Split",
    "TrainSettings",
    "__version__",
    "adaptive_propagate",
    "build_model",
    "explain_node",
    "explainable",
    "fit",
    "fit_many",
    "load_dataset",
    "neighbour_sum",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'akgnn' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
