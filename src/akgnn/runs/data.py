"""The data of a plan, loaded if training them would fit into memory."""

from pathlib import Path
from typing import Any

import torch

from akgnn.data.catalogue import large_settings
from akgnn.data.node_data import NodeData
from akgnn.runs.memory import Sizes, check_memory, memory_errors_explained
from akgnn.runs.plan import RunPlan


def load_data(
    plan: RunPlan,
    data_root: Path | str | None,
    device: torch.device,
    *,
    force: bool = False,
    nodes: Any = None,
    edges: Any = None,
) -> NodeData:
    """Return the data that `plan.load` gives.

    Raises:
        OutOfMemoryError: Training would not fit into memory, and `force` is false.
    """
    large = large_settings(plan.run.dataset)
    if large is not None and not force:
        check_memory(plan, Sizes.expected(large), device, is_loaded=False)
    with memory_errors_explained(plan, device):
        data = plan.load(data_root, device, nodes=nodes, edges=edges)
    if not force:
        check_memory(plan, Sizes.of(data), device)
    return data
