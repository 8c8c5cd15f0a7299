"""The data of a finished run, which must be what it was trained on."""

from pathlib import Path

from akgnn.data.node_data import NodeData
from akgnn.errors import DataError
from akgnn.training.run import RunResult, describe


def trained_on(run: RunResult, data_root: Path | None = None) -> NodeData:
    """Load the data of a run; refuse others under the same name."""
    data = run.plan.load(data_root)
    if describe(data) != run.data:
        raise DataError(f"{data.name} is not the data that the run was trained on.")
    return data
