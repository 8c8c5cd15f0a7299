import pytest
import torch

from akgnn.errors import DeviceError
from akgnn.machine.device import choose_device


def test_devices_are_checked():
    assert choose_device("cpu").type == "cpu"
    assert choose_device("auto").type in ("cpu", "cuda")
    with pytest.raises(DeviceError, match="Unknown device 'gpu'"):
        choose_device("gpu")
    with pytest.raises(DeviceError, match="not supported"):
        choose_device("meta")


def test_a_missing_gpu_is_said(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(DeviceError, match="No CUDA GPU is available here; use `device='cpu'`"):
        choose_device("cuda")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(DeviceError, match=r"There is no cuda:3; this machine has 1 GPU"):
        choose_device("cuda:3")
