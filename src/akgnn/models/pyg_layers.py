"""PyG's layers inside our models: imported when needed, and random only by our seeds.

PyG draws initial weights and drops values with torch's global generator. Here that generator is
seeded for the moment and put back afterwards, so that runs repeat and resume, and disturb nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.errors import MissingExtraError
from akgnn.layers.linear import multiply
from akgnn.ops.dropout import Noise


def pyg_layer(
    name: str, *sizes: int, generator: torch.Generator | None, **options: Any
) -> nn.Module:
    """A layer of `torch_geometric.nn`, its initial weights drawn from `generator`."""
    try:
        import torch_geometric.nn
    except ImportError as error:
        raise MissingExtraError(f"The layer {name}", "pyg") from error
    seed = int(torch.randint(2**62, (), generator=generator))
    with global_seed(seed):
        layer: nn.Module = getattr(torch_geometric.nn, name)(*sizes, **options)
    return layer


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Inside, torch's global generators are seeded; afterwards they are as they were."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


@contextmanager
def global_noise(noise: Noise | None, place: int) -> Iterator[None]:
    """Inside, what PyG drops is decided by `noise`; without noise nothing is touched."""
    if noise is None:
        yield
    else:
        with global_seed(int(noise.key(place))):
            yield


def take_out(layer: nn.Module, name: str) -> nn.Module:
    """A layer's linear map, which is left out of it: sparse features are mapped before the layer.

    Maps commute with sums over neighbours, so the layer gives the same and sums narrower signals.
    """
    linear: nn.Module = getattr(layer, name)
    setattr(layer, name, nn.Identity())
    return linear


def mapped(x: Tensor | CSR, linear: nn.Module) -> Tensor:
    """The product of dense or sparse features with the matrix of PyG's `Linear`."""
    return multiply(x, cast(Tensor, linear.weight).T)
