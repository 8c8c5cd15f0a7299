"""Node dropping: whole rows of the features are left out in training."""

import torch
from torch import Tensor, nn

from akgnn.csr import CSR
from akgnn.layers.dropout import Features, check_evaluating
from akgnn.ops.dropout import Noise, check_rate, kept_nodes


class NodeDropout(nn.Module):
    """Drops nodes of a dense or sparse matrix: each row is kept whole or set to 0.

    GRAND's DropNode ("Graph Random Neural Networks for Semi-Supervised Learning on Graphs",
    NeurIPS 2020). Unlike `Dropout` it does not scale up what it keeps; instead evaluation
    multiplies all rows by 1 - rate, their mean in training.

    Args:
        rate: Probability of dropping a node.
        place: A number that no other dropout of the model has; it sets the masks apart.
    """

    def __init__(self, rate: float, place: int) -> None:
        super().__init__()
        check_rate("rate", rate)
        self.rate = rate
        self.place = place

    def forward(self, x: Features, noise: Noise | None) -> Features:
        """Drop rows of `x` as the seed and step of `noise` say; their mean without `noise`."""
        if self.rate == 0:
            return x
        if noise is None:
            check_evaluating(self)
            return _scaled(x, 1 - self.rate)
        kept = kept_nodes(x.shape[-2], self.rate, noise.key(self.place), x.device)
        return _scaled(x, kept)

    def extra_repr(self) -> str:
        """The rate, for `print(model)`."""
        return f"{self.rate}"


def _scaled(x: Features, scale: Tensor | float) -> Features:
    """The rows of `x` multiplied by one number, or by one each."""
    if not isinstance(x, CSR):
        return x * (scale.unsqueeze(-1) if isinstance(scale, Tensor) else scale)
    value = torch.ones(x.num_entries, device=x.device) if x.value is None else x.value
    return CSR(
        x.pattern, value * (scale[..., x.pattern.row] if isinstance(scale, Tensor) else scale)
    )
