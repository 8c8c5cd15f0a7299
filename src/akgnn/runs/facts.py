"""What the record of a run says of its data, without the data."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from akgnn.codec import from_json, hints_of, to_json
from akgnn.data.node_data import NodeData
from akgnn.data.tables.recipe import FeatureRecipe
from akgnn.data.tables.settings import LINKS


@dataclass(frozen=True)
class DataFacts:
    """What a record says of the data, named as in `NodeData` and its graph.

    Edges count in each stored direction; of the split there are name and fingerprint.
    """

    name: str
    num_nodes: int
    num_edges: int
    num_features: int
    class_names: tuple[str, ...]
    split: str
    source: Mapping[str, str]
    recipe: FeatureRecipe | None = None

    @classmethod
    def of(cls, data: NodeData) -> "DataFacts":
        """The facts of these data."""
        sizes = data.graph.num_nodes, data.graph.num_edges, data.num_features
        source, recipe = dict(data.source), data.recipe
        return cls(data.name, *sizes, data.class_names, data.split.label, source, recipe)

    def agrees_with(self, other: "DataFacts") -> bool:
        """Whether these are facts of the same data.

        Of rows at the same distance another machine may take others for the nearest.
        """
        if LINKS in self.source and LINKS in other.source:
            other = replace(other, num_edges=self.num_edges)
        return self == other

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        recipe = {} if self.recipe is None else {"recipe": self.recipe.to_dict()}
        return {**recipe, **{name: to_json(getattr(self, name)) for name in _RECORDED}}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "DataFacts":
        """The facts that `to_dict` wrote."""
        kinds = hints_of(cls)
        values: dict[str, Any] = {
            name: from_json(kinds[name], content[name], name) for name in _RECORDED
        }
        recipe = content.get("recipe")
        return cls(**values, recipe=None if recipe is None else FeatureRecipe.from_dict(recipe))


_RECORDED = ("name", "num_nodes", "num_edges", "num_features", "class_names", "split", "source")
