"""What processes of their own do that talk by Gloo; a fresh interpreter finds it by this name."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from akgnn.csr import CSR
from akgnn.data.node_data import NodeData
from akgnn.distributed.group import Group
from akgnn.distributed.mesh import Mesh, MeshShape
from akgnn.distributed.parts import MemoryParts, cut_in_memory
from akgnn.distributed.trainer import fit_parts, own_rows
from akgnn.models.adaptive_network import AKGNNSettings
from akgnn.models.registry import build_model
from akgnn.training.settings import TrainSettings
from parts_data import small_data, some_owner

NUM_PARTS = 7
# On a GPU enough for its libraries to choose among several ways.
NUM_NODES = {"cpu": 40, "cuda": 3000}


def model_for(data: NodeData, **settings: object) -> nn.Module:
    made = AKGNNSettings().updated({"hidden_channels": 8, "num_layers": 2, **settings})
    return build_model("akgnn", made, data.num_features, data.num_classes, seed=3)


def in_float64(data: NodeData) -> NodeData:
    x = data.x
    if isinstance(x, CSR):
        value = torch.ones(x.num_entries) if x.value is None else x.value
        return replace(data, x=CSR(x.pattern, value.double()))
    return replace(data, x=x.double())


def digest(model: nn.Module) -> str:
    arrays = (tensor.detach().cpu().numpy().tobytes() for tensor in model.state_dict().values())
    return hashlib.sha256(b"".join(arrays)).hexdigest()


def parts_of(data: NodeData) -> MemoryParts:
    return cut_in_memory(data, some_owner(data.graph.num_nodes, NUM_PARTS))


def digest_of(
    group: Group, device: str = "cpu", mesh: str | None = None, kind: str = "sparse", **settings
) -> str:
    """What the weights come to after a few epochs of small data in parts."""
    shape = MeshShape(group.size, 1) if mesh is None else MeshShape.parse(mesh)
    processes, data = Mesh.of(group, shape), small_data(kind, num_nodes=NUM_NODES[device])
    model = model_for(data, **settings).to(device)
    place = torch.device(device)
    rows = own_rows(parts_of(data), processes.nodes, place, channels=processes.channels)
    fit_parts(model, rows, TrainSettings(epochs=5))
    return digest(model)


def train_by_gloo(rank: int, size: int, folder: str, cases: Sequence[dict[str, object]]) -> None:
    """Write down what each of some cases comes to: arguments of `digest_of`."""
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size
    )
    group = Group(dist.group.WORLD, seconds=60)
    lines = [digest_of(group, **case) for case in cases]
    Path(folder, f"rank-{rank}").write_text("\n".join(lines))
    dist.barrier()
    dist.destroy_process_group()
