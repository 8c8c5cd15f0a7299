"""Training that does not fit into memory: refused before it starts, or explained when it fails."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from akgnn.errors import AkgnnError, OutOfMemoryError, SettingsError
from akgnn.training.free_memory import free_bytes
from akgnn.training.memory import Sizes, data_bytes, training_bytes
from akgnn.training.presets import Preset

_ELSEWHERE = "Take a smaller model or graph, or a device with more memory."


# Fewer hidden channels than this are hardly worth training.
_FEWEST_CHANNELS = 8


def _halves(value: int) -> Iterator[int]:
    while value >= 2 * _FEWEST_CHANNELS:
        value //= 2
        yield value


def _fewer(value: int) -> Iterator[int]:
    yield from range(value - 1, 0, -1)


# Settings that save memory, each with the values to try, the mildest first.
def _switched_on(value: int) -> Iterator[int]:
    if not value:
        yield True


_REMEDIES: Mapping[str, Callable[[int], Iterator[int]]] = {
    "hidden_channels": _halves,
    "num_layers": _fewer,
    "recompute": _switched_on,
}


@dataclass(frozen=True)
class Remedy:
    """A change of one setting that lets training fit.

    Attributes:
        setting: Its name.
        value: Its new value.
        needed: What training takes then, in bytes.
    """

    setting: str
    value: int
    needed: int

    def __str__(self) -> str:
        return f"--set {self.setting}={str(self.value).lower()} ({size_text(self.needed)})"


def check_memory(
    preset: Preset, sizes: Sizes, device: torch.device, *, is_loaded: bool = True
) -> None:
    """Refuse training that is estimated to need more memory than the device has free.

    Args:
        preset: The settings.
        sizes: Of the data.
        device: Where to train.
        is_loaded: Whether the data lie there already; if not, they need room too.
    """
    training, free = training_bytes(preset, sizes), free_bytes(device)
    data = 0 if is_loaded else data_bytes(sizes)
    if training is None or free is None or data + training <= free:
        return
    beside = "beside the data" if is_loaded else "with the data"
    raise OutOfMemoryError(
        f"Training needs about {size_text(data + training)} {beside}, but {device} has "
        f"{size_text(free)} free. {_advice(preset, sizes, free - data)} The estimate may be too "
        "high: --force trains all the same."
    )


@contextmanager
def memory_errors_explained(
    preset: Preset, device: torch.device, sizes: Sizes | None = None
) -> Iterator[None]:
    """Inside, running out of memory becomes an error that says what to change.

    Args:
        preset: The settings.
        device: Where it is computed.
        sizes: Of the data; None while they are being loaded.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, AkgnnError) or not _is_out_of_memory(error):
            raise
        what = f"{device} ran out of memory{_asked_for(error)}"
        if sizes is None:
            raise OutOfMemoryError(f"{what}: the data do not fit into it.") from error
        training = training_bytes(preset, sizes)
        if training is None:
            raise OutOfMemoryError(f"{what}. {_ELSEWHERE}") from error
        raise OutOfMemoryError(
            f"{what}; training needs about {size_text(training)} beside the data. "
            # How much there was is no longer known; half as much is worth trying.
            f"{_advice(preset, sizes, training // 2)}"
        ) from error


def remedies(preset: Preset, sizes: Sizes, most: int) -> list[Remedy]:
    """Changes that each let training take at most so many bytes."""
    found = []
    for name, milder in _REMEDIES.items():
        if name not in preset.model.names():
            continue
        for value in milder(getattr(preset.model, name)):
            needed = _needed_with(preset, sizes, name, value)
            if needed is not None and needed <= most:
                found.append(Remedy(name, value, needed))
                break
    return found


def size_text(number: int) -> str:
    """A number of bytes for readers."""
    unit, size = ("GiB", 2**30) if number >= 2**30 else ("MiB", 2**20)
    return f"{number / size:.{0 if number >= 100 * size else 1}f} {unit}"


def _advice(preset: Preset, sizes: Sizes, most: int) -> str:
    found = remedies(preset, sizes, most)
    return f"Less is needed with {' or '.join(map(str, found))}." if found else _ELSEWHERE


def _needed_with(preset: Preset, sizes: Sizes, name: str, value: int) -> int | None:
    try:
        return training_bytes(preset.updated_by_kind({"model": {name: value}}), sizes)
    except SettingsError:
        # The value does not go with the other settings.
        return None


def _is_out_of_memory(error: Exception) -> bool:
    # PyTorch has no class of its own for a processor's memory.
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        "can't allocate memory" in str(error)
    )


def _asked_for(error: Exception) -> str:
    """How much the allocation that failed was for, as far as the error says."""
    asked = re.search(r"tried to allocate ([\d.]+) (bytes|\w+)", str(error), re.IGNORECASE)
    if asked is None:
        return ""
    size = size_text(int(asked[1])) if asked[2] == "bytes" else f"{asked[1]} {asked[2]}"
    return f" when {size} more were asked for"
