"""Reading what a run folder holds, as if a stranger had written it.

Everything is checked here for its type and shape, so that the rest can trust it; whatever does not
fit is a `CheckpointError`.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from torch import Tensor

from akgnn.data.tables.recipe import FeatureRecipe
from akgnn.errors import AkgnnError, CheckpointError, UnknownNameError
from akgnn.training.history import History
from akgnn.training.starts import TriedStart

# What can go wrong in picking foreign JSON apart.
MISFITS = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    OverflowError,
    AkgnnError,
)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Inside, anything that does not fit is reported as a damaged or foreign record of `path`."""
    try:
        yield
    except CheckpointError:
        raise
    except UnknownNameError as error:
        # A model or kernel that was registered by other code, or a later version's.
        raise CheckpointError(f"The record in {path} cannot be read here. {error}") from error
    except MISFITS as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise CheckpointError(f"The record in {path} is damaged or foreign: {what}.") from error


def number(value: Any) -> float:
    """A number; None, which stands for NaN in JSON, becomes that."""
    if value is None:
        return math.nan
    if type(value) not in (int, float):
        raise ValueError(f"{value!r} is not a number")
    return float(value)


def whole(value: Any) -> int:
    """A whole number from 0 on."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a whole number from 0 on")
    return value


def text(value: Any) -> str:
    """Text that can be shown on a terminal without harm."""
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{value!r} is not printable text")
    return value


def numbers(values: Any) -> list[float]:
    """A list of numbers."""
    if not isinstance(values, list):
        raise ValueError(f"{values!r} is not a list")
    return [number(value) for value in values]


def parse_history(content: Mapping[str, Any]) -> History:
    """The columns of a history, all of one length."""
    columns: dict[str, Any] = {
        name: numbers(content[name])
        for name in ("train_loss", "train_accuracy", "val_loss", "val_accuracy")
    }
    columns["lambda_max"] = [numbers(row) for row in content["lambda_max"]]
    if len({len(column) for column in columns.values()}) != 1:
        raise ValueError("the columns of the history have different lengths")
    optional: dict[str, Any] = {
        "val_roc_auc": numbers(content.get("val_roc_auc", [])),
        "neighbour_share": [numbers(row) for row in content.get("neighbour_share", [])],
        "start": [whole(number) for number in content.get("start", [])],
    }
    for name, column in optional.items():
        if len(column) not in (0, len(columns["val_loss"])):
            raise ValueError(f"the column {name} of the history has another length")
    return History(**columns, **optional)


def parse_starts(content: Any) -> tuple[TriedStart, ...]:
    """The starts that were tried."""
    return tuple(
        TriedStart(
            text(each["start"]),
            whole(each["epochs"]),
            number(each["val_loss"]),
            number(each["val_accuracy"]),
            each["is_chosen"] is True,
        )
        for each in content
    )


def parse_data(content: Mapping[str, Any]) -> dict[str, Any]:
    """The description of the data."""
    counts = {name: whole(content[name]) for name in ("num_nodes", "num_edges", "num_features")}
    names = [text(name) for name in content["class_names"]]
    source = {text(key): text(value) for key, value in content["source"].items()}
    texts = {"name": text(content["name"]), "split": text(content["split"])}
    # Data from tables say how columns became features.
    kept = content.get("recipe")
    recipe = {} if kept is None else {"recipe": FeatureRecipe.from_dict(kept).to_dict()}
    return {**recipe, **texts, **counts, "class_names": names, "source": source}


def check_fit(kind: str, tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Refuse tensors of other names or shapes than expected."""
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    wanted = {name: tuple(tensor.shape) for name, tensor in expected.items()}
    if shapes != wanted:
        different = sorted(set(shapes.items()) ^ set(wanted.items()))[0][0]
        raise CheckpointError(f"The {kind} do not fit the model: {different!r} differs.")


def check_starts(column: list[int], number: int) -> None:
    """Refuse epochs that do not go through so many starts one after the other."""
    steps = {later - earlier for earlier, later in pairwise([0, *column])}
    if not (steps <= {0, 1} and max(column, default=0) < number and (number > 1 or not column)):
        raise CheckpointError(f"The epochs do not fit the {number} starts of the kernel.")


def expected_optimizer(order: list[Tensor]) -> dict[str, Tensor]:
    """Names and shapes of Adam's state for parameters in this order."""
    expected: dict[str, Tensor] = {}
    for place, parameter in enumerate(order):
        expected[f"{place}.step"] = parameter.detach().new_zeros(())
        expected[f"{place}.exp_avg"] = parameter
        expected[f"{place}.exp_avg_sq"] = parameter
    return expected
