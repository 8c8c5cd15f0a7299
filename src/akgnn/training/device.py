"""The device to train on."""

import torch

from akgnn.errors import DeviceError


def choose_device(name: str) -> torch.device:
    """The device called `auto`, `cpu`, `cuda` or `cuda:1`; an error if this machine lacks it."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise DeviceError(f"Unknown device {name!r}; choose from auto, cpu, cuda.") from error
    if device.type not in ("cpu", "cuda"):
        raise DeviceError(f"Device {name!r} is not supported; choose from auto, cpu, cuda.")
    if device.type == "cuda":
        number = torch.cuda.device_count()
        if number == 0:
            raise DeviceError("No CUDA GPU is available here; use --device cpu.")
        if (device.index or 0) >= number:
            raise DeviceError(f"There is no {name}; this machine has {number} GPU(s), from cuda:0.")
    return device
