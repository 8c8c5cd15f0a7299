"""Adaptive-kernel graph neural networks: node classification that learns how much to smooth.

    import akgnn

    run = akgnn.train("cora")             # what `akgnn train` does
    run.result.test_accuracy              # what came of it
    run.predict().labels                  # the class of every node

Importing this is quick: torch is loaded when the first name that needs it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from akgnn.errors import AkgnnError
from akgnn.version import __version__

if TYPE_CHECKING:
    from akgnn.data.catalogue import load_dataset
    from akgnn.data.node_data import NodeData
    from akgnn.data.splits import Split
    from akgnn.data.tables.load import load_tables
    from akgnn.estimator.classifier import AKGNNClassifier
    from akgnn.explain.explanation import explain_node
    from akgnn.graph import Graph
    from akgnn.layers.ak_conv import AKConv
    from akgnn.layers.kernels import Kernel, register_kernel
    from akgnn.models.akgnn import AKGNN
    from akgnn.ops.adaptive import adaptive_propagate
    from akgnn.runs.api import train
    from akgnn.runs.load import load_run
    from akgnn.runs.run import Run
    from akgnn.training.batched.fit_many import fit_many
    from akgnn.training.fit import fit
    from akgnn.training.result import FitResult
    from akgnn.training.settings import TrainSettings

_HOME = {
    "AKConv": "akgnn.layers.ak_conv",
    "AKGNN": "akgnn.models.akgnn",
    "AKGNNClassifier": "akgnn.estimator.classifier",
    "FitResult": "akgnn.training.result",
    "Graph": "akgnn.graph",
    "Kernel": "akgnn.layers.kernels",
    "NodeData": "akgnn.data.node_data",
    "Run": "akgnn.runs.run",
    "Split": "akgnn.data.splits",
    "TrainSettings": "akgnn.training.settings",
    "adaptive_propagate": "akgnn.ops.adaptive",
    "explain_node": "akgnn.explain.explanation",
    "fit": "akgnn.training.fit",
    "fit_many": "akgnn.training.batched.fit_many",
    "load_dataset": "akgnn.data.catalogue",
    "load_run": "akgnn.runs.load",
    "load_tables": "akgnn.data.tables.load",
    "register_kernel": "akgnn.layers.kernels",
    "train": "akgnn.runs.api",
}

__all__ = [
    "AKGNN",
    "AKConv",
    "AKGNNClassifier",
    "AkgnnError",
    "FitResult",
    "Graph",
    "Kernel",
    "NodeData",
    "Run",
    "Split",
    "TrainSettings",
    "__version__",
    "adaptive_propagate",
    "explain_node",
    "fit",
    "fit_many",
    "load_dataset",
    "load_run",
    "load_tables",
    "register_kernel",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'akgnn' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
