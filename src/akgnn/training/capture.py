"""Work on a GPU that is recorded once and replayed: one launch instead of hundreds."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

# The first time operations compile or choose an algorithm, which must not be recorded.
_WARM_UPS = 2


class Captured:
    """A CUDA graph of a function, which gives one tensor and keeps all it needs in place.

    Args:
        function: Without arguments. It must read and write the same memory each time, and ask the
            GPU for no number.
        changed: What it changes; put back to what it was after the function was tried.
    """

    def __init__(self, function: Callable[[], Tensor], changed: Sequence[Tensor]) -> None:
        before = [tensor.detach().clone() for tensor in changed]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UPS):
                function()
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._result = function()
        with torch.no_grad():
            for tensor, kept in zip(changed, before, strict=True):
                tensor.copy_(kept)

    def __call__(self) -> Tensor:
        """Do the work; the result lies where the last one lay."""
        self._graph.replay()
        return self._result
