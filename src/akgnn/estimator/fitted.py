"""What an estimator has learned, and how it is asked."""

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from akgnn.csr import CSR
from akgnn.data.neighbours import Neighbours
from akgnn.data.node_data import NodeData
from akgnn.errors import DataError
from akgnn.estimator.inputs import Scaling, as_features, as_graph, fingerprint
from akgnn.graph import Graph
from akgnn.runs.presets import Preset
from akgnn.runs.run import Run
from akgnn.training.fit import check_scores

if TYPE_CHECKING:
    from akgnn.data.tables.recipe import FeatureRecipe


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained model, and what is needed to show it other rows.

    Attributes:
        run: The training, with all settings and the model.
        scaling: How columns are scaled, if they are.
        neighbours: The training table, where there was no graph.
        graph: The training graph, where there was one.
        rows: The fingerprint of the training table that came with a graph.
        is_prepared: Whether rows are made of the columns of a DataFrame, by the run's recipe.
    """

    run: Run
    scaling: Scaling | None = None
    neighbours: Neighbours | None = None
    graph: Graph | None = None
    rows: str | None = None
    is_prepared: bool = False

    @property
    def recipe(self) -> "FeatureRecipe | None":
        """How rows are made of columns, if they are."""
        return self.run.facts.recipe if self.is_prepared else None

    @property
    def preset(self) -> Preset:
        """All settings."""
        return self.run.plan.preset

    def place(self, x: Any, graph: Any) -> "Placed":
        """Rows of features on the graph that they are seen on: given, known or of neighbours."""
        given = x
        if self.scaling is not None:
            x = self.scaling.apply(x)
        if self.neighbours is not None:
            if graph is not None:
                raise DataError(
                    "A graph came with X, but training had none: its rows were linked to their "
                    "nearest neighbours. Leave graph out here, or pass graph to fit too."
                )
            rows, attached = self.neighbours.attach(x)
            # With more digits, so that a row's answer is the same in every batch.
            dtype = torch.float64
            first = rows.shape[0] - x.shape[0]
            return Placed(as_features(rows, dtype), attached, dtype, first)
        if graph is not None:
            seen = undirected_if_needed(as_graph(graph, x.shape[0]), self.preset)
            return Placed(as_features(x), seen)
        if self.graph is None or fingerprint(given) != self.rows:
            raise DataError(
                "The model was trained on a graph, and X is not the table that came with it: "
                "pass the graph of these rows as graph=…."
            )
        return Placed(as_features(x), self.graph)

    def place_data(self, data: NodeData, num_features: int) -> "Placed":
        """The nodes of a `NodeData`, which must have so many features, on their graph."""
        if self.neighbours is not None:
            raise DataError("The model was trained on a table without a graph; pass a table too.")
        if data.num_features != num_features:
            raise DataError(
                f"{data.name} has {data.num_features} features, "
                f"but the model expects {num_features}."
            )
        x: Tensor | CSR = data.x.float() if isinstance(data.x, Tensor) else data.x
        return Placed(x, undirected_if_needed(data.graph, self.preset))

    @torch.no_grad()
    def ask(
        self, placed: "Placed", device: torch.device, method: Literal["forward", "embed"]
    ) -> Tensor:
        """What a method of the model says of the rows."""
        model = deepcopy(self.run.model).to(device, placed.dtype)
        out: Tensor = getattr(model, method)(placed.x.to(device), placed.graph.to(device))
        check_scores(out[placed.first :])
        return out[placed.first :].double().cpu()


@dataclass(frozen=True, eq=False)
class Placed:
    """Features and graph for the model; what is asked about begins at row `first`."""

    x: Tensor | CSR
    graph: Graph
    dtype: torch.dtype = torch.float32
    first: int = 0


def undirected_if_needed(graph: Graph, preset: Preset) -> Graph:
    """The graph, with the missing directions where the settings need an undirected one."""
    return graph.symmetrised() if preset.to_dict()["model"]["normalisation"] == "sym" else graph
