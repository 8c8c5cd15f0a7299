"""The registries of the package, and putting them back after a test has added to them."""

from collections.abc import Iterator
from contextlib import contextmanager

from akgnn.data.catalogue import REGISTERED
from akgnn.data.tables.readers import READERS
from akgnn.experiments.spec import SHOWN
from akgnn.layers.kernels import KERNELS
from akgnn.layers.readouts import READOUTS
from akgnn.models.registry import MODELS
from akgnn.report.figures import FIGURES
from akgnn.training.metrics import METRICS
from akgnn.training.strategies.registry import STRATEGIES

_ALL = (REGISTERED, READERS, KERNELS, READOUTS, MODELS, FIGURES, METRICS, STRATEGIES)


@contextmanager
def registries_restored() -> Iterator[None]:
    """Inside, anything may be registered; afterwards it is forgotten."""
    before, shown = [dict(registry) for registry in _ALL], list(SHOWN)
    try:
        yield
    finally:
        SHOWN[:] = shown
        for registry, entries in zip(_ALL, before, strict=True):
            registry.clear()
            registry.update(entries)
