"""The list of models: every name that `--model` and `build_model` know."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from akgnn.errors import UnknownNameError
from akgnn.models.akgnn import AKGNN, AKGNNSettings
from akgnn.models.appnp import APPNP, APPNPSettings
from akgnn.models.chebynet import ChebyNet, ChebyNetSettings
from akgnn.models.gat import GAT, GATSettings
from akgnn.models.gaugo import GAugO, GAugOSettings
from akgnn.models.gcn import GCN, GCNSettings
from akgnn.models.gprgnn import GPRGNN, GPRGNNSettings
from akgnn.models.graphsage import GraphSAGE, GraphSAGESettings
from akgnn.models.jknet import JKNet, JKNetSettings
from akgnn.models.mlp import MLP, MLPSettings
from akgnn.models.pgso import PGSO, PGSOSettings
from akgnn.models.sgc import SGC, SSGC, SGCSettings, SSGCSettings
from akgnn.settings import Settings


@dataclass(frozen=True)
class ModelEntry:
    """What is known of a model before it is built.

    Attributes:
        build: Makes the model as `build(in_channels, hidden_channels, out_channels, …)`, or
            without the second where its settings have no hidden channels.
        settings: The class of its settings.
        family: Kind of model, for lists.
        paper: Where it was published.
        strategy: How it is trained unless a preset says otherwise; a name in
            `akgnn.training.strategies`.
    """

    build: Callable[..., nn.Module]
    settings: type[Settings]
    family: str
    paper: str
    strategy: str = "supervised"


MODELS = {
    "akgnn": ModelEntry(
        AKGNN,
        AKGNNSettings,
        "adaptive kernel",
        "Ju et al., Adaptive Kernel Graph Neural Network, 2022",
    ),
    "appnp": ModelEntry(
        APPNP, APPNPSettings, "graph convolution", "Gasteiger et al., Predict then Propagate, 2019"
    ),
    "chebynet": ModelEntry(
        ChebyNet,
        ChebyNetSettings,
        "graph convolution",
        "Defferrard et al., Convolutional Neural Networks on Graphs with Fast Localized Spectral "
        "Filtering, 2016",
    ),
    "dropedge": ModelEntry(
        GCN,
        GCNSettings,
        "regularisation",
        "Rong et al., DropEdge: Towards Deep Graph Convolutional Networks on Node Classification, "
        "2020",
        strategy="drop-edge",
    ),
    "fastgcn": ModelEntry(
        GCN,
        GCNSettings,
        "sampling",
        "Chen et al., FastGCN: Fast Learning with Graph Convolutional Networks via Importance "
        "Sampling, 2018",
        strategy="layer-sampling",
    ),
    "gat": ModelEntry(
        GAT,
        GATSettings,
        "graph convolution",
        "Velickovic et al., Graph Attention Networks, 2018",
    ),
    "gaugo": ModelEntry(
        GAugO,
        GAugOSettings,
        "regularisation",
        "Zhao et al., Data Augmentation for Graph Neural Networks, 2021",
        strategy="edge-augmentation",
    ),
    "gcn": ModelEntry(
        GCN,
        GCNSettings,
        "graph convolution",
        "Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, 2017",
    ),
    "gprgnn": ModelEntry(
        GPRGNN,
        GPRGNNSettings,
        "graph convolution",
        "Chien et al., Adaptive Universal Generalized PageRank Graph Neural Network, 2021",
    ),
    "graphsage": ModelEntry(
        GraphSAGE,
        GraphSAGESettings,
        "sampling",
        "Hamilton et al., Inductive Representation Learning on Large Graphs, 2017",
    ),
    "jknet": ModelEntry(
        JKNet,
        JKNetSettings,
        "graph convolution",
        "Xu et al., Representation Learning on Graphs with Jumping Knowledge Networks, 2018",
    ),
    "mlp": ModelEntry(
        MLP,
        MLPSettings,
        "no edges",
        "Rumelhart et al., Learning Representations by Back-Propagating Errors, 1986",
    ),
    "pgso": ModelEntry(
        PGSO,
        PGSOSettings,
        "regularisation",
        "Dasoulas et al., Learning Parametrised Graph Shift Operators, 2021",
    ),
    "sgc": ModelEntry(
        SGC,
        SGCSettings,
        "graph convolution",
        "Wu et al., Simplifying Graph Convolutional Networks, 2019",
    ),
    "ssgc": ModelEntry(
        SSGC,
        SSGCSettings,
        "graph convolution",
        "Zhu and Koniusz, Simple Spectral Graph Convolution, 2021",
    ),
    "vbat": ModelEntry(
        GCN,
        GCNSettings,
        "regularisation",
        "Deng et al., Batch Virtual Adversarial Training for Graph Convolutional Networks, 2019",
        strategy="virtual-adversarial",
    ),
}


def find_model(name: str) -> ModelEntry:
    """The entry of a model, or an error that lists the names."""
    if name not in MODELS:
        raise UnknownNameError("model", name, MODELS)
    return MODELS[name]


def build_model(
    name: str, settings: Settings, in_channels: int, out_channels: int, *, seed: int = 0
) -> nn.Module:
    """Build a model by name, its initial weights drawn from `seed`."""
    options = settings.to_dict()
    # Linear models have no hidden channels.
    hidden = [options.pop("hidden_channels")] if "hidden_channels" in options else []
    generator = torch.Generator().manual_seed(seed)
    return find_model(name).build(
        in_channels, *hidden, out_channels, generator=generator, **options
    )
