"""The list of models: every name that `--model` and `build_model` know."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import torch
from torch import nn

from akgnn.errors import SettingsError, UnknownNameError, suggest
from akgnn.models.adaptive_network import AKGNNSettings, Order
from akgnn.models.akgnn import AKGNN
from akgnn.models.akgnn_deep import DeepAKGNN
from akgnn.models.akgnn_grand import AKGNNGrand
from akgnn.models.akgnn_hops import HopAKGNN
from akgnn.models.block_network import (
    BlockGAT,
    BlockGATSettings,
    BlockGCN,
    BlockGCNSettings,
    BlockGraphSAGE,
    BlockGraphSAGESettings,
    BlockSettings,
)
from akgnn.models.boosting import GRADIENT_BOOSTING, BoostingSettings
from akgnn.models.chebynet import ChebyNet, ChebyNetSettings
from akgnn.models.dropedge import DropEdgeNet, DropEdgeNetSettings
from akgnn.models.gaugo import GAugO, GAugOSettings
from akgnn.models.gcn import GCN, PGSO, GCNSettings, JKNet, JKNetSettings
from akgnn.models.predict_first import (
    APPNP,
    GPRGNN,
    MLP,
    APPNPSettings,
    GPRGNNSettings,
    MLPSettings,
)
from akgnn.models.pyg_models import GAT, GraphSAGE
from akgnn.models.sgc import SGC, SSGC, SGCSettings, SSGCSettings
from akgnn.settings import Settings


@dataclass(frozen=True)
class ModelEntry:
    """What is known of a model before it is built.

    Attributes:
        model: The class of the model, called as `model(in_channels, hidden_channels,
            out_channels, *, …, generator)` with settings by name, or without the second where its
            settings have no hidden channels. Its `is_stackable`, if true, says that it knows
            replicas; see `akgnn.models.replicas`. None of what is no network.
        settings: The class of its settings.
        family: Kind of model, for lists.
        paper: Where it was published.
        strategy: How it is trained unless a preset says otherwise; a name in
            `akgnn.training.strategies`.
        presets: TOML file of its presets; if None the package's own, or the defaults alone.
        choose: The class for some settings, where they ask for different ones; `model` is the one
            for the defaults. Settings that only some of the classes take say so with
            `akgnn.settings.needs`.
        has_phi: Whether it learns scalars of kernels, which settings such as `phi_learning_rate`
            are for.
    """

    model: type[nn.Module] | None
    settings: type[Settings]
    family: str
    paper: str
    strategy: str = "supervised"
    presets: Path | None = None
    choose: Callable[[Any], type[nn.Module]] | None = None
    has_phi: bool = True

    def model_for(self, settings: Settings) -> type[nn.Module]:
        """The class of the model that has these settings.

        Raises:
            SettingsError: It is no network.
        """
        if self.model is None:
            raise SettingsError(
                f"What is called {self.family} is no network, and is not trained like one; make "
                "it a row of a study: `akgnn reproduce FILE.toml`."
            )
        return self.model if self.choose is None else self.choose(settings)


_ORDERS: dict[Order, type[nn.Module]] = {
    "transform-first": AKGNN,
    "propagate-first": AKGNNGrand,
    "hops": HopAKGNN,
    "blocks": DeepAKGNN,
}


def _akgnn_for(settings: AKGNNSettings) -> type[nn.Module]:
    return _ORDERS[settings.order]


def _either(
    published: type[nn.Module], blocks: type[nn.Module]
) -> Callable[[BlockSettings], type[nn.Module]]:
    """Chooses between the two forms of a baseline."""
    return lambda settings: blocks if settings.form == "blocks" else published


_PAPERS = {
    "akgnn": "Ju et al., Adaptive Kernel Graph Neural Network, 2022",
    "appnp": "Gasteiger et al., Predict then Propagate, 2019",
    "chebynet": "Defferrard et al., Convolutional Neural Networks on Graphs with Fast "
    "Localized Spectral Filtering, 2016",
    "dropedge": "Rong et al., DropEdge: Towards Deep Graph Convolutional Networks on Node "
    "Classification, 2020",
    "fastgcn": "Chen et al., FastGCN: Fast Learning with Graph Convolutional Networks via "
    "Importance Sampling, 2018",
    "gat": "Velickovic et al., Graph Attention Networks, 2018",
    "gaugo": "Zhao et al., Data Augmentation for Graph Neural Networks, 2021",
    "gcn": "Kipf and Welling, Semi-Supervised Classification with Graph Convolutional "
    "Networks, 2017",
    "gprgnn": "Chien et al., Adaptive Universal Generalized PageRank Graph Neural Network, 2021",
    GRADIENT_BOOSTING: "Friedman, Greedy Function Approximation: A Gradient Boosting Machine, 2001",
    "graphsage": "Hamilton et al., Inductive Representation Learning on Large Graphs, 2017",
    "jknet": "Xu et al., Representation Learning on Graphs with Jumping Knowledge Networks, 2018",
    "mlp": "Rumelhart et al., Learning Representations by Back-Propagating Errors, 1986",
    "pgso": "Dasoulas et al., Learning Parametrised Graph Shift Operators, 2021",
    "sgc": "Wu et al., Simplifying Graph Convolutional Networks, 2019",
    "ssgc": "Zhu and Koniusz, Simple Spectral Graph Convolution, 2021",
    "vbat": "Deng et al., Batch Virtual Adversarial Training for Graph Convolutional Networks, "
    "2019",
}

MODELS: dict[str, ModelEntry] = {
    "akgnn": ModelEntry(
        AKGNN, AKGNNSettings, "adaptive kernel", _PAPERS["akgnn"], choose=_akgnn_for
    ),
    "appnp": ModelEntry(APPNP, APPNPSettings, "graph convolution", _PAPERS["appnp"], has_phi=False),
    "chebynet": ModelEntry(
        ChebyNet, ChebyNetSettings, "graph convolution", _PAPERS["chebynet"], has_phi=False
    ),
    "dropedge": ModelEntry(
        GCN,
        DropEdgeNetSettings,
        "regularisation",
        _PAPERS["dropedge"],
        strategy="drop-edge",
        has_phi=False,
        choose=lambda settings: GCN if settings.form == "gcn" else DropEdgeNet,
    ),
    "fastgcn": ModelEntry(
        GCN, GCNSettings, "sampling", _PAPERS["fastgcn"], strategy="layer-sampling", has_phi=False
    ),
    "gat": ModelEntry(
        GAT,
        BlockGATSettings,
        "graph convolution",
        _PAPERS["gat"],
        choose=_either(GAT, BlockGAT),
        has_phi=False,
    ),
    "gaugo": ModelEntry(
        GAugO,
        GAugOSettings,
        "regularisation",
        _PAPERS["gaugo"],
        strategy="edge-augmentation",
        has_phi=False,
    ),
    "gcn": ModelEntry(
        GCN,
        BlockGCNSettings,
        "graph convolution",
        _PAPERS["gcn"],
        choose=_either(GCN, BlockGCN),
        has_phi=False,
    ),
    "gprgnn": ModelEntry(
        GPRGNN, GPRGNNSettings, "graph convolution", _PAPERS["gprgnn"], has_phi=False
    ),
    "graphsage": ModelEntry(
        GraphSAGE,
        BlockGraphSAGESettings,
        "sampling",
        _PAPERS["graphsage"],
        choose=_either(GraphSAGE, BlockGraphSAGE),
        has_phi=False,
    ),
    "jknet": ModelEntry(JKNet, JKNetSettings, "graph convolution", _PAPERS["jknet"], has_phi=False),
    "mlp": ModelEntry(MLP, MLPSettings, "no edges", _PAPERS["mlp"], has_phi=False),
    "pgso": ModelEntry(PGSO, GCNSettings, "regularisation", _PAPERS["pgso"]),
    "sgc": ModelEntry(SGC, SGCSettings, "graph convolution", _PAPERS["sgc"], has_phi=False),
    "ssgc": ModelEntry(SSGC, SSGCSettings, "graph convolution", _PAPERS["ssgc"], has_phi=False),
    "vbat": ModelEntry(
        GCN,
        GCNSettings,
        "regularisation",
        _PAPERS["vbat"],
        strategy="virtual-adversarial",
        has_phi=False,
    ),
}


NOT_NETWORKS: dict[str, ModelEntry] = {
    GRADIENT_BOOSTING: ModelEntry(
        None, BoostingSettings, "gradient boosting", _PAPERS[GRADIENT_BOOSTING], has_phi=False
    ),
}
"""What plans and studies know besides, but nothing that trains networks."""


def register_model(name: str, entry: ModelEntry) -> None:
    """Add a model, under a name that is not taken, to those that `--model` and `build_model` know.

    Raises:
        SettingsError: The name is taken, or the second argument is no `ModelEntry`.
    """
    if not isinstance(entry, ModelEntry):
        raise SettingsError(f"A model is registered by its ModelEntry, got {entry!r}.")
    if name in MODELS or name in NOT_NETWORKS:
        raise SettingsError(f"There is a model {name!r} already; choose another name.")
    MODELS[name] = entry


def find_model(name: str) -> ModelEntry:
    """The entry of a model; an unknown one is answered with the names there are."""
    known = {**MODELS, **NOT_NETWORKS}
    if name not in known:
        raise UnknownNameError("model", name, known)
    return known[name]


def build_model(
    name: str, settings: Settings, in_channels: int, out_channels: int, *, seed: int = 0
) -> nn.Module:
    """Build a model by name.

    Args:
        name: A name in `MODELS`.
        settings: The settings of the model.
        in_channels: Number of features.
        out_channels: Number of classes.
        seed: Seed of the initial weights.

    Raises:
        SettingsError: The model does not have a setting that is not at its default.
        UnknownNameError: There is no model of this name.
    """
    entry = find_model(name)
    model, options = entry.model_for(settings), settings.to_dict()
    if entry.choose is not None:
        taken = signature(model).parameters
        for name in settings.in_effect().keys() - taken - settings.choosers():
            if options[name] != getattr(entry.settings(), name):
                raise SettingsError(
                    f"{name}={options[name]!r} is not a setting of {model.__name__}. "
                    + suggest(name, taken.keys() & options)
                )
        options = {name: options[name] for name in taken if name in options}
    # Linear models have no hidden channels.
    hidden = [options.pop("hidden_channels")] if "hidden_channels" in options else []
    generator = torch.Generator().manual_seed(seed)
    return model(in_channels, *hidden, out_channels, generator=generator, **options)
