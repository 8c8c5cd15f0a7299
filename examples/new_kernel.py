"""A kernel of one's own: λ on a logarithmic scale, trained and compared with the paper's.

Run: python examples/new_kernel.py [EPOCHS]
"""

import math
import sys

import torch

import akgnn
from akgnn.layers.kernels import LambdaKernel

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 500


class LogKernel(LambdaKernel):
    """λ = 1 + e^φ: a step of φ changes the self-loop by a share, and λ never sticks at 1."""

    search_space = (1.1, 10.0)

    def phi_of(self, scalar: float) -> float:
        """The initial φ of a layer with this λ."""
        if scalar <= 1:
            raise ValueError("λ must be above 1")
        return math.log(scalar - 1)

    def self_loop(self, phi: torch.Tensor) -> torch.Tensor:
        """The weight λ - 1 of the self-loop; gradients come by themselves."""
        return phi.exp()


akgnn.register_kernel("log", LogKernel())

data = akgnn.load_dataset("cora")
for kernel in ("paper", "log"):
    generator = torch.Generator().manual_seed(0)
    model = akgnn.AKGNN(data.num_features, 64, data.num_classes, kernel=kernel, generator=generator)
    result = akgnn.fit(model, data, akgnn.TrainSettings(epochs=epochs))
    values = "  ".join(f"{value:.2f}" for value in result.lambda_max)
    print(f"{kernel:>5}: validation {result.val_accuracy:.1f} %, λ {values}")
