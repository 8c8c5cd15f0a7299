"""Signals that wait for the backward pass, in files instead of memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef

from akgnn.arrays import KINDS, in_nameless_file
from akgnn.ops.part_rows import PartRows

# What is smaller stays in memory: a parameter, or the rows of a few nodes.
_SMALLEST = 2**20


@contextmanager
def signals_in_files() -> Iterator[None]:
    """Inside, signals on the CPU that autograd keeps lie in temporary files, as memory maps.

    The system writes them to the disk where memory is short. The files have no names, so they are
    gone with the signals, however the process ends; `TMPDIR` says on which disk they are. What
    `torch.utils.checkpoint` computes again for a while stays in memory.

    Raises:
        RunFolderError: The disk is full.
    """
    # A signal that two operations keep is one file.
    written: WeakValueDictionary[tuple[object, ...], Tensor] = WeakValueDictionary()

    def to_file(tensor: Tensor) -> Tensor:
        is_plain = tensor.device.type == "cpu" and not isinstance(tensor, PartRows)
        if not is_plain or tensor.nbytes < _SMALLEST or tensor.dtype not in KINDS:
            return tensor
        storage = StorageWeakRef(tensor.untyped_storage())
        where = tensor.storage_offset(), tensor.shape, tensor.stride()
        key = (storage.cdata, tensor._version, *where)
        signal = written.get(key)
        if signal is None:
            signal = in_nameless_file(tensor)
            # While it lives no other storage has this number.
            signal.of = storage  # type: ignore[attr-defined]
            written[key] = signal
        return signal

    with saved_tensors_hooks(to_file, lambda signal: signal):
        yield
