"""How processes share nodes and channels if nobody says it: as the plan chooses, or as before."""

from contextlib import suppress
from dataclasses import replace

import torch

from akgnn.distributed.channels import check_slices
from akgnn.distributed.folder import FolderParts
from akgnn.distributed.forecast import Forecast, best, forecasts
from akgnn.distributed.hardware import CPU_CORE, H200
from akgnn.distributed.mesh import MeshShape, shape_for
from akgnn.distributed.workload import cut_already
from akgnn.errors import SettingsError
from akgnn.machine.device import free_bytes
from akgnn.models.adaptive_network import AKGNNSettings
from akgnn.runs.folder import RunFolder
from akgnn.runs.plan import RunPlan

# What the plan may be wrong by.
_NEAR = 1.2


def choose_mesh_for(
    plan: RunPlan, parts: FolderParts, processes: int, device: torch.device
) -> tuple[MeshShape, str]:
    """The mesh on which a step is fastest, by the figures of known hardware, and why.

    Nodes alone are taken unless another is faster by more than a fifth. The choice is between
    meshes whose halos were counted when the graph was cut, which those of 2, 4, 8 … processes are.
    Otherwise, and where channels cannot be cut, processes share the nodes.

    Args:
        plan: What is trained.
        parts: On which parts.
        processes: By how many processes of this machine; no more than there are parts.
        device: Where they compute.
    """
    nodes, settings = MeshShape(processes, 1), plan.preset.model
    counted = {share.processes for share in parts.costs.shares}
    if not isinstance(settings, AKGNNSettings) or processes not in counted:
        return nodes, ""
    hardware = H200
    if device.type == "cpu":
        free = free_bytes(device)
        hardware = replace(CPU_CORE, memory=None if free is None else max(1, free // processes))
    work = cut_already(parts, num_layers=settings.num_layers, channels=settings.hidden_channels)
    choices = [
        each
        for each in forecasts(work, processes, hardware)
        if _can_be_cut(settings, each.mesh.channels)
    ]
    if len(choices) == 1:
        return nodes, ""
    # Without further settings, if any does.
    at_once = [each for each in choices if each.fits and _is_at_once(each)]
    chosen = _clearly_best(at_once or choices)
    other = min((c for c in choices if c is not chosen), key=lambda each: each.seconds.total)
    text = (
        f"Mesh {chosen.mesh}, chosen by the plan: {_seconds(chosen)} a step against "
        f"{_seconds(other)} of {other.mesh}."
    )
    if chosen.mesh != nodes:
        text += (
            " Slices of channels add up in another order, so last digits may differ; "
            f"`mesh={nodes}` has the bits of one process."
        )
    return chosen.mesh, text


def _clearly_best(choices: list[Forecast]) -> Forecast:
    """Nodes alone, which have the bits of one process, unless another is clearly faster."""
    fastest = best(choices)
    nodes = next((each for each in choices if each.mesh.channels == 1 and each.fits), None)
    is_near = nodes is not None and nodes.seconds.total <= _NEAR * fastest.seconds.total
    return nodes if nodes is not None and is_near else fastest


def kept_mesh(folder: RunFolder, processes: int) -> MeshShape | None:
    """The mesh of the run that a folder holds; None unless it is one of so many processes."""
    if not folder.holds_run():
        return None
    with suppress(SettingsError):
        return shape_for(processes, str(folder.read().get("mesh")))
    return None


def _can_be_cut(settings: AKGNNSettings, slices: int) -> bool:
    with suppress(SettingsError):
        check_slices(None, settings, slices)
        return True
    return False


def _is_at_once(each: Forecast) -> bool:
    return each.channels_at_once is None and each.parts_at_once is None


def _seconds(each: Forecast) -> str:
    return f"{each.seconds.total:.2g} s"
