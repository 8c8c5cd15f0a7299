"""Generated graphs whose homophily and degree are chosen."""

from dataclasses import dataclass

import numpy as np
import torch

from akgnn.data.node_data import NodeData
from akgnn.data.splits import split_by_fraction
from akgnn.errors import SettingsError
from akgnn.graph import Graph
from akgnn.settings import Settings, count, non_negative, positive, seed


@dataclass(frozen=True, kw_only=True)
class BlockModelSettings(Settings):
    """Settings of the contextual stochastic block model.

    Attributes:
        num_nodes: Number of nodes, shared out evenly among the classes.
        num_classes: Number of classes.
        homophily: Expected share of edges that join two nodes of one class.
        degree: Expected number of neighbours of a node.
        num_features: Number of features.
        signal: Distance of the class means from each other, in deviations of the noise.
        seed: Of the draw.
    """

    num_nodes: int = count(2000, most=100_000_000)
    num_classes: int = count(4)
    homophily: float = non_negative(0.5)
    degree: float = positive(10.0)
    num_features: int = count(32, most=100_000)
    signal: float = non_negative(4.4)
    seed: int = seed()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.homophily > 1:
            raise SettingsError(f"homophily must be between 0 and 1, got {self.homophily}.")
        if self.num_classes < 2:
            raise SettingsError("num_classes must be at least 2.")
        if self.num_nodes < 10 * self.num_classes:
            raise SettingsError("num_nodes must be at least 10 for each class.")


def block_model(settings: BlockModelSettings | None = None) -> NodeData:
    """Draw a graph from the contextual stochastic block model.

    Every node has a class; an edge joins two nodes of one class with the probability `homophily`
    and two of different classes otherwise, ends drawn evenly. Features are the class mean, a
    random direction, plus Gaussian noise. A tenth of the nodes train, a tenth choose the epoch.
    """
    settings = settings or BlockModelSettings()
    draw = np.random.default_rng(settings.seed)
    y = np.arange(settings.num_nodes) % settings.num_classes
    source, target = _edges(settings, y, draw)
    means = draw.standard_normal((settings.num_classes, settings.num_features))
    means *= settings.signal / np.sqrt(2) / np.linalg.norm(means, axis=1, keepdims=True)
    x = means[y] + draw.standard_normal((settings.num_nodes, settings.num_features))
    labels = torch.from_numpy(y)
    edge_index = torch.from_numpy(
        np.stack([np.concatenate([source, target]), np.concatenate([target, source])])
    )
    return NodeData(
        name="csbm",
        x=torch.from_numpy(x.astype(np.float32)),
        y=labels,
        graph=Graph.from_edge_index(edge_index, num_nodes=settings.num_nodes),
        split=split_by_fraction(labels, train=0.1, val=0.1, seed=settings.seed),
        class_names=tuple(str(label) for label in range(settings.num_classes)),
        source={"origin": "generated", **{k: str(v) for k, v in settings.to_dict().items()}},
    )


def _edges(
    settings: BlockModelSettings, y: np.ndarray, draw: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw distinct undirected edges until there are as many as the degree asks for."""
    nodes, classes = settings.num_nodes, settings.num_classes
    wanted = round(nodes * settings.degree / 2)
    same_wanted = round(wanted * settings.homophily)
    sizes = np.bincount(y)
    same_possible = int((sizes * (sizes - 1) // 2).sum())
    other_possible = nodes * (nodes - 1) // 2 - same_possible
    if same_wanted > same_possible / 2 or wanted - same_wanted > other_possible / 2:
        raise SettingsError(
            f"degree {settings.degree:g} with homophily {settings.homophily:g} asks for more than "
            "half of the edges that such a graph can have; lower the degree or add nodes."
        )

    def distinct(number: int, is_same: bool) -> np.ndarray:
        keys = np.empty(0, dtype=np.int64)
        while len(keys) < number:
            a = draw.integers(nodes, size=2 * (number - len(keys)) + 16)
            # Nodes of one class are `classes` apart; a shift of 1 to classes - 1 changes class.
            step = 0 if is_same else draw.integers(1, classes, size=len(a))
            b = (a + step) % classes + classes * draw.integers(-(-nodes // classes), size=len(a))
            fits = (b < nodes) & (a != b)
            a, b = a[fits], b[fits]
            new = np.minimum(a, b) * nodes + np.maximum(a, b)
            _, first = np.unique(np.concatenate([keys, new]), return_index=True)
            keys = np.concatenate([keys, new])[np.sort(first)][:number]
        return keys

    keys = np.concatenate([distinct(same_wanted, True), distinct(wanted - same_wanted, False)])
    return keys // nodes, keys % nodes
