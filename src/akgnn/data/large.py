"""A generated graph of any size: built row by row on any device, with no sort over all edges."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from akgnn.csr import CSR, Pattern
from akgnn.data.node_data import NodeData
from akgnn.data.splits import split_by_fraction
from akgnn.errors import SettingsError
from akgnn.graph import Graph
from akgnn.hashing import mix, words_
from akgnn.settings import Settings, count, non_negative, positive, seed, share

# Candidates of neighbours, or numbers of the features, that are made at a time.
_AT_ONCE = 2**22
# Candidates for each neighbour that a node is to have: the more, the more degrees differ.
_CANDIDATES = 1.5
# Places of the hashes: the order of the nodes, the edges, the features.
_ORDER, _EDGES, _FEATURES = 1, 2, 3


@dataclass(frozen=True, kw_only=True)
class LargeGraphSettings(Settings):
    """Settings of the large graph.

    Attributes:
        num_nodes: Number of nodes, shared out evenly among the classes.
        num_classes: Number of classes.
        homophily: About the share of edges that join two nodes of one class.
        degree: Expected number of neighbours of a node.
        num_features: Number of features.
        signal: Distance of the class means from each other, in deviations of the noise.
        seed: Of everything.
    """

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

    def key(self, place: int) -> int:
        """The key of one of the hashes."""
        return mix(mix(self.seed) ^ place)


def large_graph(
    settings: LargeGraphSettings | None = None,
    *,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> NodeData:
    """Build an undirected graph whose edges follow from hashes, the same on every device.

    Nodes stand in a random order, the nodes of a class side by side. A mirror joins position p to
    position c - p, counted round the class or round the whole graph; with c odd and an even number
    of positions no node meets itself. Each mirror proposes one neighbour to every node, and a hash
    of the two nodes decides whether the edge is there. So each row of the adjacency can be computed
    by itself, and degrees are binomial. Features are the class mean, a random direction, plus noise
    that is spread evenly. A tenth of the nodes train, a tenth choose the epoch.

    Args:
        settings: A million nodes of 30 neighbours if not given.
        device: Where the graph is built, and stays.
        dtype: Of the features.
    """
    settings = settings or LargeGraphSettings()
    places = torch.arange(settings.num_nodes, device=device)
    node_at = torch.argsort(words_(places.clone(), settings.key(_ORDER))).int()
    position = torch.empty_like(node_at).index_copy_(0, node_at.long(), places.int())
    del places
    graph = Graph(_adjacency(settings, position, node_at))
    y = position.long().floor_divide_(settings.class_size)
    return NodeData(
        name="large",
        x=_features(settings, y, dtype),
        y=y,
        graph=graph,
        split=split_by_fraction(y, train=0.1, val=0.1, seed=settings.seed),
        class_names=tuple(str(label) for label in range(settings.num_classes)),
        source={"origin": "generated", **{k: str(v) for k, v in settings.to_dict().items()}},
    )


def _adjacency(settings: LargeGraphSettings, position: Tensor, node_at: Tensor) -> CSR:
    """All rows, some at a time."""
    nodes, rows_at_once = settings.num_nodes, max(1, _AT_ONCE // settings.num_mirrors)
    mirrors = _mirrors(settings, position.device)
    rowptr = torch.zeros(nodes + 1, dtype=torch.int64, device=position.device)
    columns = []
    for start in range(0, nodes, rows_at_once):
        stop = min(start + rows_at_once, nodes)
        candidates = _mirrored(settings, position[start:stop].long(), *mirrors)
        neighbours = node_at.index_select(0, candidates.view(-1)).view_as(candidates)
        node = torch.arange(start, stop, device=position.device, dtype=torch.int32).unsqueeze(1)
        neighbours.masked_fill_(~_is_edge(settings, node, neighbours), nodes)
        neighbours = neighbours.sort(dim=1).values
        kept = neighbours < nodes
        columns.append(neighbours[kept])
        rowptr[start + 1 : stop + 1] = kept.sum(1)
    rowptr = rowptr.cumsum_(0)
    return CSR(Pattern(rowptr, torch.cat(columns), (nodes, nodes), copy=False))


def _mirrors(settings: LargeGraphSettings, device: torch.device) -> tuple[Tensor, Tensor]:
    """The odd numbers c of the mirrors round a class, and of those round the graph."""
    draw = np.random.default_rng(settings.seed)
    # Of the mirrors round the graph one in num_classes stays within a class, by chance.
    chance = 1 / settings.num_classes
    within = round(settings.num_mirrors * (settings.homophily - chance) / (1 - chance))
    # Distinct in a class and therefore in the graph, so that no two propose the same neighbour.
    places = 2 * draw.choice(settings.class_size // 2, settings.num_mirrors, replace=False) + 1
    classes = draw.integers(settings.num_classes, size=settings.num_mirrors - within)
    across = places[within:] + settings.class_size * classes
    first, second = (torch.from_numpy(part).to(device) for part in (places[:within], across))
    return first, second


def _mirrored(
    settings: LargeGraphSettings, position: Tensor, within: Tensor, across: Tensor
) -> Tensor:
    """The position opposite each of `position`, a row, in every mirror, a column."""

    def opposite(mirror: Tensor, place: Tensor, size: int) -> Tensor:
        # Where c - p is below 0 its sign, moved down over all bits, lets `size` pass.
        below = mirror - place.unsqueeze(1)
        return below.add_((below >> 63).bitwise_and_(size))

    place = position % settings.class_size
    inside = opposite(within, place, settings.class_size).add_((position - place).unsqueeze(1))
    return torch.cat([inside, opposite(across, position, settings.num_nodes)], dim=1)


def _is_edge(settings: LargeGraphSettings, node: Tensor, neighbours: Tensor) -> Tensor:
    """Whether the hash of two nodes, in either order, says that they are neighbours."""
    pair = torch.minimum(node, neighbours).long().mul_(settings.num_nodes)
    words = words_(pair.add_(torch.maximum(node, neighbours)), settings.key(_EDGES))
    # A word, read with its sign, is an even draw from -2^63 to 2^63 - 1.
    return words < round(settings.degree / settings.num_mirrors * 2**64) - 2**63


def _features(settings: LargeGraphSettings, y: Tensor, dtype: torch.dtype) -> Tensor:
    """Class means plus noise, 16 bits of a hash for each number."""
    channels, groups = settings.num_features, -(-settings.num_features // 4)
    draw = np.random.default_rng(settings.seed)
    means = draw.standard_normal((settings.num_classes, channels))
    means *= settings.signal / math.sqrt(2) / np.linalg.norm(means, axis=1, keepdims=True)
    mean_of = torch.from_numpy(means.astype(np.float32)).to(y.device)
    x = torch.empty(settings.num_nodes, channels, dtype=dtype, device=y.device)
    rows_at_once = max(1, _AT_ONCE // channels)
    for start in range(0, settings.num_nodes, rows_at_once):
        stop = min(start + rows_at_once, settings.num_nodes)
        words = torch.arange(start * groups, stop * groups, device=y.device)
        lanes = words_(words, settings.key(_FEATURES)).view(-1, groups).view(torch.int16)
        # Even from -√3 to √3, which has the deviation 1.
        noise = lanes[:, :channels].float().add_(0.5).mul_(math.sqrt(12) / 2**16)
        x[start:stop] = noise.add_(mean_of[y[start:stop]])
    return x
