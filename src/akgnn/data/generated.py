"""Generated graphs whose homophily and degree are chosen.

The block model is drawn edge by edge. The large graph is built row by row on any device, with no
sort over all edges, and may be of any size.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from akgnn.arrays import Growing, empty_in_file
from akgnn.csr import CSR, Pattern
from akgnn.data.node_data import NodeData, numbered
from akgnn.data.splits import split_by_fraction
from akgnn.errors import OutOfMemoryError, SettingsError
from akgnn.graph import Graph
from akgnn.hashing import mix, words_
from akgnn.machine.device import free_bytes, size_text
from akgnn.settings import Settings, count, non_negative, positive, seed, share

# Candidates of neighbours, or numbers of the features, that are made at a time.
_AT_ONCE = 2**22
# Candidates for each neighbour that a node is to have: the more, the more degrees differ.
_CANDIDATES = 1.5
# What a node takes in memory where the rest lies in files: order, label, row, split.
_BYTES_A_NODE = 100
# Keys of the hashes: of the order of the nodes, of the edges, of the features.
_ORDER, _EDGES, _FEATURES = 1, 2, 3


@dataclass(frozen=True, kw_only=True)
class BlockModelSettings(Settings):
    """Settings of the contextual stochastic block model.

    Attributes:
        num_nodes: Number of nodes, shared out evenly among the classes.
        num_classes: Number of classes.
        homophily: Expected share of edges that join two nodes of one class.
        degree: Expected number of neighbours of a node.
        num_features: Number of features.
        signal: Distance of the class means from each other, in standard deviations of the noise.
        seed: Seed of the draw.
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
    nodes, edges = settings.num_nodes, settings.num_nodes * settings.degree / 2
    # Features in float64 three times over, and for every edge that is drawn a dozen integers.
    _check_room(24 * nodes * settings.num_features + 96 * edges)
    draw = np.random.default_rng(settings.seed)
    y = np.arange(settings.num_nodes) % settings.num_classes
    source, target = _edges(settings, y, draw)
    means = _class_means(settings, draw)
    x = means[y] + draw.standard_normal((settings.num_nodes, settings.num_features))
    index = torch.from_numpy(np.stack([source, target]))
    both = torch.cat([index, index.flip(0)], dim=1)
    graph = Graph.from_edge_index(both, num_nodes=settings.num_nodes)
    features = torch.from_numpy(x.astype(np.float32))
    return _node_data("csbm", settings, features, torch.from_numpy(y), graph)


def _check_room(needed: float, device: torch.device | str = "cpu") -> None:
    """Refuse a graph that needs more bytes than are free, before it takes all there are."""
    free = free_bytes(torch.device(device))
    if free is not None and needed > free:
        raise OutOfMemoryError(
            f"The generated graph needs at least {size_text(round(needed))}, but {device} has "
            f"{size_text(free)} free; ask for fewer nodes, features or neighbours."
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


@dataclass(frozen=True, kw_only=True)
class LargeGraphSettings(Settings):
    """Settings of the large graph: those of the block model; homophily is about what is asked."""

    num_nodes: int = count(1_000_000, most=2_000_000_000)
    num_classes: int = count(8, most=100_000)
    homophily: float = share(0.5)
    degree: float = positive(30.0)
    num_features: int = count(64, most=100_000)
    signal: float = non_negative(2.0)
    seed: int = seed()

    def __post_init__(self) -> None:
        super().__post_init__()
        classes = self.num_classes
        if classes < 2:
            raise SettingsError("num_classes must be at least 2.")
        if self.num_nodes % (2 * classes):
            near = max(1, round(self.num_nodes / (2 * classes))) * 2 * classes
            raise SettingsError(
                f"num_nodes must be a multiple of 2 × num_classes = {2 * classes}, "
                f"got {self.num_nodes}; take {near}."
            )
        if self.homophily < 1 / classes:
            raise SettingsError(
                f"homophily must be at least 1 / num_classes = {1 / classes:g}, where edges do not "
                f"look at classes; got {self.homophily:g}. csbm draws graphs with less."
            )
        if self.num_mirrors > self.class_size // 2:
            raise SettingsError(
                f"degree {self.degree:g} is too high for classes of {self.class_size} nodes; "
                "lower it or add nodes."
            )

    @property
    def class_size(self) -> int:
        """Number of nodes of each class, which is even."""
        return self.num_nodes // self.num_classes

    @property
    def num_mirrors(self) -> int:
        """Number of candidates for neighbours of each node."""
        return math.ceil(_CANDIDATES * self.degree)

    def key(self, purpose: int) -> int:
        """The key of the hash for one purpose."""
        return mix(mix(self.seed) ^ purpose)


def large_graph(
    settings: LargeGraphSettings | None = None,
    *,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    folder: Path | None = None,
) -> NodeData:
    """Build an undirected graph whose edges follow from hashes, the same on every device.

    Nodes stand in a random order, the nodes of a class side by side. A mirror joins position p to
    position c - p, counted round the class or round the whole graph; with c odd and an even number
    of positions no node meets itself. Each mirror proposes one neighbour to every node, and a hash
    of the two nodes decides whether the edge is there. So each row of the adjacency can be computed
    by itself, and degrees are binomial. Features are the class mean, a random direction, plus noise
    that is spread evenly. A tenth of the nodes train, a tenth choose the epoch.
    The graph is built on the device and stays there. With a folder, neighbours and features lie in
    files there, as memory maps, and memory holds a few integers for each node.
    """
    settings = settings or LargeGraphSettings()
    # What it takes in the end: features and neighbours of every node, and two integers.
    each = dtype.itemsize * settings.num_features + 4 * settings.degree + 16
    each = each if folder is None else _BYTES_A_NODE
    _check_room(settings.num_nodes * each, device)
    index = torch.arange(settings.num_nodes, device=device)
    node_at = torch.argsort(words_(index.clone(), settings.key(_ORDER))).int()
    position = torch.empty_like(node_at).index_copy_(0, node_at.long(), index.int())
    del index
    graph = Graph(_adjacency(settings, position, node_at, folder))
    y = position.long().floor_divide_(settings.class_size)
    return _node_data("large", settings, _features(settings, y, dtype, folder), y, graph)


def _adjacency(
    settings: LargeGraphSettings, position: Tensor, node_at: Tensor, folder: Path | None
) -> CSR:
    """All rows, some at a time."""
    nodes, rows_at_once = settings.num_nodes, max(1, _AT_ONCE // settings.num_mirrors)
    mirrors = _mirrors(settings, position.device)
    rowptr = torch.zeros(nodes + 1, dtype=torch.int64, device=position.device)
    columns = Growing(torch.int32, None if folder is None else folder / "col")
    for start in range(0, nodes, rows_at_once):
        stop = min(start + rows_at_once, nodes)
        candidates = _mirrored(settings, position[start:stop].long(), *mirrors)
        neighbours = node_at.index_select(0, candidates.view(-1)).view_as(candidates)
        node = torch.arange(start, stop, device=position.device, dtype=torch.int32).unsqueeze(1)
        neighbours.masked_fill_(~_is_edge(settings, node, neighbours), nodes)
        neighbours = neighbours.sort(dim=1).values
        is_node = neighbours < nodes
        columns.append(neighbours[is_node])
        rowptr[start + 1 : stop + 1] = is_node.sum(1)
    rowptr = rowptr.cumsum_(0)
    return CSR(Pattern(rowptr, columns.finish(), (nodes, nodes), copy=False))


def _mirrors(settings: LargeGraphSettings, device: torch.device) -> tuple[Tensor, Tensor]:
    """The odd numbers c of the mirrors round a class, and of those round the graph."""
    draw = np.random.default_rng(settings.seed)
    # Of the mirrors round the graph one in num_classes stays within a class, by chance.
    chance = 1 / settings.num_classes
    within = round(settings.num_mirrors * (settings.homophily - chance) / (1 - chance))
    # Distinct in a class and therefore in the graph, so that no two propose the same neighbour.
    centres = 2 * draw.choice(settings.class_size // 2, settings.num_mirrors, replace=False) + 1
    classes = draw.integers(settings.num_classes, size=settings.num_mirrors - within)
    across = centres[within:] + settings.class_size * classes
    first, second = (torch.from_numpy(part).to(device) for part in (centres[:within], across))
    return first, second


def _mirrored(
    settings: LargeGraphSettings, position: Tensor, within: Tensor, across: Tensor
) -> Tensor:
    """The position opposite each of `position`, a row, in every mirror, a column."""

    def opposite(mirror: Tensor, index: Tensor, size: int) -> Tensor:
        # Where c - p is below 0 its sign, moved down over all bits, lets `size` pass.
        below = mirror - index.unsqueeze(1)
        return below.add_((below >> 63).bitwise_and_(size))

    index = position % settings.class_size
    inside = opposite(within, index, settings.class_size).add_((position - index).unsqueeze(1))
    return torch.cat([inside, opposite(across, position, settings.num_nodes)], dim=1)


def _is_edge(settings: LargeGraphSettings, node: Tensor, neighbours: Tensor) -> Tensor:
    """Whether the hash of two nodes, in either order, says that they are neighbours."""
    pair = torch.minimum(node, neighbours).long().mul_(settings.num_nodes)
    words = words_(pair.add_(torch.maximum(node, neighbours)), settings.key(_EDGES))
    # A word, read with its sign, is an even draw from -2^63 to 2^63 - 1.
    return words < round(settings.degree / settings.num_mirrors * 2**64) - 2**63


def _features(
    settings: LargeGraphSettings, y: Tensor, dtype: torch.dtype, folder: Path | None
) -> Tensor:
    """Class means plus noise, 16 bits of a hash for each number."""
    channels, groups = settings.num_features, -(-settings.num_features // 4)
    means = _class_means(settings, np.random.default_rng(settings.seed))
    mean_of = torch.from_numpy(means.astype(np.float32)).to(y.device)
    shape = settings.num_nodes, channels
    if folder is None:
        x = torch.empty(shape, dtype=dtype, device=y.device)
    else:
        x = empty_in_file(folder / "x", dtype, shape)
    rows_at_once = max(1, _AT_ONCE // channels)
    for start in range(0, settings.num_nodes, rows_at_once):
        stop = min(start + rows_at_once, settings.num_nodes)
        words = torch.arange(start * groups, stop * groups, device=y.device)
        lanes = words_(words, settings.key(_FEATURES)).view(-1, groups).view(torch.int16)
        # Even from -√3 to √3, whose standard deviation is 1.
        noise = lanes[:, :channels].float().add_(0.5).mul_(math.sqrt(12) / 2**16)
        x[start:stop] = noise.add_(mean_of[y[start:stop]])
    return x


def _class_means(
    settings: BlockModelSettings | LargeGraphSettings, draw: np.random.Generator
) -> NDArray[np.float64]:
    """A random direction for each class, as long as the signal asks for."""
    means = draw.standard_normal((settings.num_classes, settings.num_features))
    means *= settings.signal / math.sqrt(2) / np.linalg.norm(means, axis=1, keepdims=True)
    return means


def _node_data(
    name: str, settings: BlockModelSettings | LargeGraphSettings, x: Tensor, y: Tensor, graph: Graph
) -> NodeData:
    split = split_by_fraction(y, train=0.1, val=0.1, seed=settings.seed)
    source = {"origin": "generated", **{k: str(v) for k, v in settings.to_dict().items()}}
    return NodeData(name, x, y, graph, split, numbered(settings.num_classes), source)
