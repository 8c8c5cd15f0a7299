"""What processes of their own do that talk by Gloo; a fresh interpreter finds it by this name."""

import hashlib
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
    arrays = (tensor.detach().numpy().tobytes() for tensor in model.state_dict().values())
    return hashlib.sha256(b"".join(arrays)).hexdigest()


def parts_of(data: NodeData) -> MemoryParts:
    return cut_in_memory(data, some_owner(data.graph.num_nodes, NUM_PARTS))


def train_by_gloo(rank: int, shape: str, folder: str) -> None:
    mesh = MeshShape.parse(shape)
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=mesh.size
    )
    processes = Mesh.of(Group(dist.group.WORLD, seconds=60), mesh)
    data = small_data("sparse")
    model = model_for(data)
    rows = own_rows(parts_of(data), processes.nodes, channels=processes.channels)
    fit_parts(model, rows, TrainSettings(epochs=5))
    Path(folder, f"rank-{rank}").write_text(digest(model))
    dist.barrier()
    dist.destroy_process_group()
