"""Where each node stands on a map: nodes that a model sees alike are close to each other.

It is the embedding of "Visualizing Data using t-SNE" (JMLR 2008): each node is drawn to those it is
most like, with forces that fall off like 1 / (1 + d²), and pushed away from all others. The push is
a convolution, so it is computed by Fourier transforms on a grid, as in "Fast interpolation-based
t-SNE for improved visualization of single-cell RNA-seq data" (Nature Methods 2019), here with
bilinear weights: seconds for 20,000 nodes.
"""

import hashlib
import math
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import fft, sparse
from torch import Tensor

from akgnn.errors import CheckpointError, RunFolderError
from akgnn.files import json_text, read_json, write_file

Array = NDArray[np.float32]

LAYOUT_FILE = "map.json"
"""What is kept in the folder of a run; it can be removed at any time."""

# Changes when the same input gives another map.
_VERSION = 1
_CHANNELS = 16
_NEIGHBOURS = 15
# Attraction is this many times as strong in the first part of the steps: clusters form early.
_EARLY = 12.0
_STEPS, _EARLY_STEPS = 400, 120
# The map grows with the root of the number of nodes, so cells stay about half a unit wide.
_CELLS_A_ROOT, _FEWEST_CELLS, _MOST_CELLS = 4, 48, 192
_BLOCK = 1024


def layout_of(features: Tensor, folder: Path | None = None, *, seed: int = 0) -> Array:
    """A point for each row, from 0 to 1 in both directions.

    Args:
        features: What tells the nodes apart, shape (nodes, channels).
        folder: The folder of the run, which keeps the map for the next time. One that cannot be
            written to is left as it is.
        seed: Draws what is left to chance: where nodes go that are all alike.
    """
    checksum = _checksum(features, seed)
    file = None if folder is None else folder / LAYOUT_FILE
    kept = None if file is None else _read(file, checksum, len(features))
    if kept is not None:
        return kept
    # As they are kept, so that the next page is the same.
    points = np.round(_to_square(_embedded(_main_channels(features), seed)), 5)
    if file is not None:
        content = {"checksum": checksum, "points": points.astype(float).tolist()}
        with suppress(RunFolderError):
            write_file(file, (json_text(content) + "\n").encode())
    return points


def _checksum(features: Tensor, seed: int) -> str:
    digest = hashlib.sha256(f"{_VERSION} {seed} {tuple(features.shape)}".encode())
    digest.update(features.float().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _read(file: Path, checksum: str, nodes: int) -> Array | None:
    """The map that was kept; None where there is none of these features."""
    try:
        content = read_json(file)
    except CheckpointError:
        return None
    if not isinstance(content, dict) or content.get("checksum") != checksum:
        return None
    try:
        points = np.array(content.get("points"), dtype=np.float32)
    except (TypeError, ValueError):
        return None
    fits = points.shape == (nodes, 2) and bool(np.all((points >= 0) & (points <= 1)))
    return points if fits else None


def _main_channels(features: Tensor) -> Array:
    """The directions in which the rows differ most, the largest first."""
    x = features.double().nan_to_num(0.0, 0.0, 0.0)
    x = x - x.mean(0)
    _, vectors = torch.linalg.eigh(x.T @ x)
    main = x @ vectors.flip(1)[:, :_CHANNELS]
    # Either sign is right; this one is the same everywhere.
    largest = main.gather(0, main.abs().argmax(0, keepdim=True))
    main = main * torch.where(largest < 0, -1.0, 1.0)
    scale = float(main.square().mean().sqrt())
    return cast(Array, (main / scale if scale > 0 else main).float().numpy())


def _embedded(x: Array, seed: int) -> Array:
    """The points after all steps."""
    nodes = len(x)
    random = np.random.default_rng(seed)
    noise = random.standard_normal((nodes, 2)).astype(np.float32)
    if nodes < 4:
        return noise
    pairs, push = _attraction(x), _Repulsion(nodes)
    start = np.pad(x, ((0, 0), (0, max(0, 2 - x.shape[1]))))[:, :2]
    points = 1e-2 * start / max(float(start.std()), 1e-12) + 1e-4 * noise
    # Later too for many nodes, which would fill the map from side to side.
    late = float(np.clip(1 + 1.5 * math.log10(nodes / 2500), 1, 4))
    speed, gain = np.zeros_like(points), np.ones_like(points)
    for step in range(_STEPS):
        early = step < _EARLY_STEPS
        strength = _EARLY if early else late
        force = strength * _pull(pairs, points) + push(points)
        # A direction that stays gets longer steps, one that turns shorter ones.
        same = (force > 0) == (speed > 0)
        gain = np.where(same, gain + 0.2, gain * 0.8).clip(0.01)
        # The step that suits the strength of the attraction, whatever the number of nodes.
        speed = (0.5 if early else 0.8) * speed + (nodes / _EARLY) * gain * force
        points += speed.clip(-5, 5)
        points -= points.mean(0)
    return points


def _attraction(x: Array) -> sparse.coo_array:
    """How strongly pairs of nodes attract each other; adds up to 1."""
    nodes, k = len(x), min(_NEIGHBOURS, len(x) - 1)
    near = _nearest(torch.from_numpy(x), k)
    row = np.repeat(np.arange(nodes), k)
    one = np.full(nodes * k, 1 / (2 * nodes * k), dtype=np.float32)
    there = sparse.coo_array((one, (row, near.reshape(-1))), (nodes, nodes))
    return (there + there.T).tocoo()


def _nearest(x: Tensor, k: int) -> NDArray[np.int64]:
    """The k rows nearest to each, itself not among them."""
    sizes = x.square().sum(1)
    found = []
    for start in range(0, len(x), _BLOCK):
        distance = sizes - 2 * x[start : start + _BLOCK] @ x.T
        own = torch.arange(len(distance))
        distance[own, own + start] = math.inf
        found.append(distance.topk(k, largest=False).indices)
    return cast(NDArray[np.int64], torch.cat(found).numpy())


def _pull(pairs: sparse.coo_array, points: Array) -> Array:
    row, col = pairs.coords
    difference = points[col] - points[row]
    force = difference * (pairs.data / (1 + (difference**2).sum(1)))[:, None]
    total = [np.bincount(row, force[:, k], len(points)) for k in (0, 1)]
    return np.stack(total, 1).astype(np.float32)


class _Repulsion:
    """The push between all points, Σ_j (y_i - y_j) (1 + d²)^-2 / Σ (1 + d²)^-1.

    Points are spread over the corners of their cell of a grid, and what they do to each other is
    read off at the same corners.
    """

    def __init__(self, nodes: int) -> None:
        cells = round(_CELLS_A_ROOT * math.sqrt(nodes))
        self._cells = min(max(cells, _FEWEST_CELLS), _MOST_CELLS)
        self._width = 0.0
        self._kernels: NDArray[np.complexfloating] = np.zeros(0, dtype=np.complex64)
        self._size = fft.next_fast_len(2 * self._cells, real=True)

    def __call__(self, points: Array) -> Array:
        low, size = points.min(0), self._size
        self._fit(float((points - low).max()))
        place = (points - low) / (self._width / (self._cells - 2))
        cell = place.astype(np.int64)
        x, y = (place - cell).T
        corners = cell[:, 0] * size + cell[:, 1] + np.array([[0], [1], [size], [size + 1]])
        weights = np.stack([(1 - x) * (1 - y), (1 - x) * y, x * (1 - y), x * y])
        density = np.bincount(corners.reshape(-1), weights.reshape(-1), size * size)
        spectrum = fft.rfft2(density.reshape(size, size).astype(np.float32))
        fields = fft.irfft2(spectrum * self._kernels, s=(size, size)).reshape(3, -1)
        total, *force = (weights * fields[:, corners]).sum(1)
        # Each point is among them once, at no distance from itself.
        return cast(Array, np.stack(force, 1) / max(float(total.sum()) - len(points), 1e-12))

    def _fit(self, width: float) -> None:
        """Make the grid wide enough, and no wider than need be, for points this far apart."""
        if width <= self._width <= 1.3 * width:
            return
        self._width = max(1.1 * width, 1e-6)
        size, spacing = self._size, self._width / (self._cells - 2)
        steps = np.arange(size, dtype=np.float32)
        steps = np.where(steps > size / 2, steps - size, steps) * np.float32(spacing)
        x, y = steps[:, None], steps[None, :]
        near = 1 / (1 + x**2 + y**2)
        self._kernels = fft.rfft2(np.stack([near, x * near**2, y * near**2]))


def _to_square(points: Array) -> Array:
    """Points from 0 to 1, both axes by the same factor; a few far ones do not shrink the rest."""
    low, high = (np.quantile(points, share, axis=0) for share in (0.002, 0.998))
    middle, half = (low + high) / 2, max(float((high - low).max()) / 2, 1e-12)
    return cast(Array, ((points - middle) / half / 2 / 1.04 + 0.5).clip(0, 1).astype(np.float32))


def shown_features(logits: Tensor, embedded: Tensor | None) -> Tensor:
    """What the map is made of: class scores and, where a model has it, what they are made from.

    Both count alike, and a class score around the mean of its node.
    """
    scores = logits.float().nan_to_num(0.0, 0.0, 0.0)
    parts: list[Any] = [scores - scores.mean(1, keepdim=True)]
    if embedded is not None:
        parts.append(embedded.float())
    sized = [part / part.std().clamp_min(1e-12) / math.sqrt(part.size(1)) for part in parts]
    return torch.cat(sized, dim=1)
