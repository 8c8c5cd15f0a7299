"""What a run says of nodes: their classes and the probabilities behind them."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from akgnn.files import write_file


@dataclass(frozen=True, eq=False)
class Predictions:
    """Classes of nodes as a model sees them.

    Attributes:
        class_names: Names of the classes, in the order of the columns of `probability`.
        probability: Probability of every class, a row for each node.
        ids: The nodes' own ids; None where nodes are rows of a data set.
        num_alone: How many of the new nodes have no link, and are judged by their columns alone.
    """

    class_names: tuple[str, ...]
    probability: Tensor
    ids: Sequence[Any] | None = None
    num_alone: int = 0

    def __len__(self) -> int:
        return len(self.probability)

    @property
    def labels(self) -> list[str]:
        """The likeliest class of every node."""
        return [self.class_names[index] for index in self.probability.argmax(1).tolist()]

    @property
    def by_id(self) -> dict[Any, str]:
        """The likeliest class of every node, by its id or number."""
        nodes: Sequence[Any] = range(len(self)) if self.ids is None else self.ids
        return dict(zip(nodes, self.labels, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        ids = {} if self.ids is None else {"id": list(self.ids)}
        probability = self.probability.tolist()
        classes = list(self.class_names)
        return {**ids, "classes": classes, "label": self.labels, "probability": probability}

    def to_csv(self, file: Path | str | None = None) -> str:
        """A row for each node: its id or number, its class, and the probability of each class.

        Args:
            file: Where to write the text too.

        Raises:
            RunFolderError: The file cannot be written.
        """
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        names = [f"probability of {name}" for name in self.class_names]
        writer.writerow(["node" if self.ids is None else "id", "label", *names])
        nodes: Sequence[Any] = range(len(self)) if self.ids is None else self.ids
        for node, label, row in zip(nodes, self.labels, self.probability.tolist(), strict=True):
            writer.writerow([node, label, *(f"{value:.6f}" for value in row)])
        if file is not None:
            write_file(Path(file), stream.getvalue().encode())
        return stream.getvalue()
