"""`Run`: a run that has finished, with its result, its model, its data and its predictions."""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn

from akgnn.codec import from_json, reading
from akgnn.data.label_inputs import append_labels
from akgnn.data.node_data import NodeData
from akgnn.data.tables.settings import EDGES_SHA256, NODES_SHA256
from akgnn.errors import (
    AloneWarning,
    CheckpointError,
    DataError,
    SettingsError,
)
from akgnn.machine.device import check_defaults, choose_device
from akgnn.machine.provenance import versions
from akgnn.models.predict_first import MLP
from akgnn.models.registry import build_model, find_model
from akgnn.runs.facts import DataFacts
from akgnn.runs.folder import RunFolder, check_fit
from akgnn.runs.plan import RunPlan
from akgnn.runs.predictions import Predictions
from akgnn.runs.rows import kept_labels, kept_rows
from akgnn.runs.run_summary import card_of, line_of, object_of
from akgnn.runs.vote import Vote, shares_by_name
from akgnn.training.ensemble import Ensemble
from akgnn.training.fit import check_scores, logits_hiding, predict_logits
from akgnn.training.result import FitResult

if TYPE_CHECKING:
    from akgnn.runs.choice import Choice
    from akgnn.runs.verdict import Verdict

T = TypeVar("T")
EXTRA_TENSORS = "estimator/"
"""What the names of tensors begin with that are kept beside the model's."""
# The same words every time, so that Python shows them once for each line of a program.
_WITHOUT_EDGES = (
    "The nodes came without `edges`, so they are judged by their columns alone; pass a table of "
    "their edges, among each other and to nodes of training."
)


@dataclass(frozen=True, eq=False)
class Run:
    """A run that has finished.

    Attributes:
        plan: All its settings.
        facts: What is known of its data without loading them.
        result: What training came to.
        folder: The folder that keeps it, if any.
        tables: The tables it was trained on, where those were in memory: nodes and edges.
        choice: What `akgnn.train` chose its preset from, where it had a choice.
        members: What each model of an ensemble came to, by seed and without its epochs; `result` is
            that of all together, with the epochs of the first.
        votes: The models of an ensemble and their shares where they are not of one plan; `plan` is
            that of the first, whose share is largest.
        verdict: What its result is worth, if `akgnn.train` trained it on one split.
        data_root: Where its data set lies, if `akgnn.train` was told; a kept run does not say.
        kept: What it keeps of its training rows (`row_tensors`), where no folder keeps them.
    """

    plan: RunPlan
    facts: DataFacts
    result: FitResult
    folder: RunFolder | None = None
    tables: tuple[Any, Any] = (None, None)
    trained_model: nn.Module | None = None
    choice: "Choice | None" = None
    verdict: "Verdict | None" = None
    members: tuple[FitResult, ...] = ()
    votes: tuple[Vote, ...] = ()
    data_root: Path | str | None = None
    kept: Mapping[str, Tensor] | None = None

    @cached_property
    def model(self) -> nn.Module:
        """The model with the best weights, in evaluation mode, on the CPU.

        Raises:
            CheckpointError: The folder's weights are damaged or do not fit.
        """
        if self.trained_model is not None:
            return self.trained_model.cpu().eval()
        assert self.folder is not None, "a run has its model, or a folder that keeps it"
        tensors = self.folder.read_weights(self.folder.read())
        check_defaults()
        with reading(self.folder.path):
            return self.with_weights(tensors).model

    def with_weights(self, tensors: Mapping[str, Tensor]) -> "Run":
        """The same run with a model of these weights, among which may be tensors of others.

        Raises:
            CheckpointError: They do not fit the model.
        """
        weights = {n: t for n, t in tensors.items() if not n.startswith(EXTRA_TENSORS)}
        # Sizes are compared before there are any numbers: a record may claim more than memory has.
        check_defaults()
        with torch.device("meta"):
            expected = self._build().state_dict()
        check_fit(f"weights of {self._where}", weights, expected)
        for key, tensor in weights.items():
            if tensor.dtype != expected[key].dtype:
                raise CheckpointError(f"The weights {key!r} are {tensor.dtype}.")
        model = self._build()
        model.load_state_dict(weights)
        return replace(self, trained_model=model)

    def _build(self) -> nn.Module:
        """The model, or the ensemble, before any training."""
        sizes = self.facts.num_features, self.num_classes
        models = [
            build_model(plan.run.model, plan.preset.model, *sizes) for plan in self._model_plans
        ]
        if not self.members:
            return models[0]
        calibrations = [member.calibration for member in self.members]
        return Ensemble(models, calibrations, [vote.weight for vote in self.votes] or None)

    @property
    def _model_plans(self) -> list[RunPlan]:
        """The plan of each model of an ensemble, or that of the only one."""
        return [vote.plan for vote in self.votes] or [self.plan] * max(1, len(self.members))

    @property
    def sees_links(self) -> bool:
        """Whether any of its models looks at links."""
        return any(find_model(plan.run.model).model is not MLP for plan in self._model_plans)

    def data(
        self, data_root: Path | str | None = None, device: torch.device | str = "cpu"
    ) -> NodeData:
        """The data that the run was trained on, prepared as they were then.

        Args:
            data_root: Where data sets lie that do not come with the package; if not given where
                they lay in training, if that is known.
            device: Where the data are put.

        Raises:
            DataError: The data have changed since, or are unavailable.
        """
        return self._training_data(data_root, "Restore it, or train again.").to(device)

    def _training_data(self, data_root: Path | str | None, advice: str) -> NodeData:
        """The data of training, with advice on what to do where they have changed since."""
        nodes, edges = self.tables
        if self.plan.tables is not None and not self._has_tables:
            raise DataError(
                "The run was trained on tables in memory, which are not kept; predict new tables, "
                "or train it again."
            )
        data = self.plan.load(
            data_root or self.data_root, nodes=nodes, edges=edges, recipe=self.facts.recipe
        )
        found = DataFacts.of(data)
        if not self.facts.agrees_with(found):
            name = self._changed_table(found) or data.name
            raise DataError(f"{name} has changed since the run was trained. {advice}")
        return data

    def _changed_table(self, found: DataFacts) -> str | None:
        """The table that is not as it was in training, if its fingerprint tells."""
        tables, before, now = self.plan.tables, self.facts.source, found.source
        for key, kind in ((NODES_SHA256, "nodes"), (EDGES_SHA256, "edges")):
            if tables is not None and before.get(key) != now.get(key):
                files = getattr(tables, kind)
                files = [files] if isinstance(files, str) else files
                return " or ".join(filter(None, files)) or f"The table of {kind}"
        return None

    def predict(
        self,
        nodes: Any = None,
        edges: Any = None,
        *,
        dataset: str | None = None,
        unknown_ids: str | None = None,
        data_root: Path | str | None = None,
        device: str = "auto",
    ) -> Predictions:
        """Predict the class of nodes.

        Without arguments all nodes that the run was trained on. New nodes have the columns of the
        training's, in any order; features are prepared as they were there. Nodes without links are
        judged by their columns alone: a call without `edges` warns of it (`AloneWarning`), and
        `num_alone` of the predictions says how many they are.

        Args:
            nodes: Path or DataFrame of nodes to predict, which need not have been there in
                training.
            edges: Path or DataFrame of their edges, among each other and to nodes of training; none
                where training had none, and new rows are linked to the nearest of training.
            dataset: Another data set with the same features and classes.
            unknown_ids: What to do with edges to ids without a node: `refuse` or `drop`; as in
                training if not given.
            data_root: Where data sets lie that do not come with the package.
            device: auto, cpu, cuda or cuda:1.

        Raises:
            SettingsError: The arguments do not go together, or not with the run.
            DataError: The tables or data do not fit the model.
        """
        for name, value in (("edges", edges), ("unknown_ids", unknown_ids)):
            if nodes is None and value is not None:
                raise SettingsError(f"`{name}` needs `nodes`, the table of the nodes to predict.")
        if nodes is not None and dataset is not None:
            raise SettingsError("Name a data set or tables of your own (`nodes`), not both.")
        place = choose_device(device)
        model, alone = self.model.to(place), 0
        if nodes is not None:
            asked = self._read_tables(nodes, edges, unknown_ids)
            x, graph, labelled, number = (each.to(place) for each in self._inputs(asked))
            logits = logits_hiding(model, x, graph, labelled, number, self.num_classes)
            logits = logits[asked.rows.to(place)]
            ids = asked.ids
            check_scores(logits, ids)
            # A model that sees no edges misses none.
            alone = asked.num_alone if self.sees_links else 0
            if edges is None and alone:
                warnings.warn(_WITHOUT_EDGES, AloneWarning, stacklevel=2)
        else:
            data = self._named_data(dataset, data_root)
            logits, ids = predict_logits(model, data.to(place)), data.ids
        model.cpu()
        probability = self.result.calibration.scaled(logits.cpu()).softmax(1)
        return Predictions(self.facts.class_names, probability, _plain(ids), alone)

    @property
    def member_accuracy(self) -> float:
        """The test accuracy of one model of an ensemble on average; NaN of a single run."""
        scores = [member.test_accuracy for member in self.members]
        return fmean(scores) if scores else math.nan

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return len(self.facts.class_names)

    def _inputs(self, asked: Any) -> tuple[Any, ...]:
        """Features and graph of tables to predict, with training labels if the model takes them.

        Also the nodes whose label is among the features, and their numbers among all training
        nodes.
        """
        none = asked.rows[:0]
        if not self.plan.preset.strategy.takes_labels:
            return asked.x, asked.graph, none, none
        if asked.y is not None:
            # New rows stand below those of training, and have no label.
            labelled = (asked.y >= 0).nonzero()[:, 0]
            y, number = asked.y, torch.arange(len(labelled))
        else:
            from akgnn.data.tables.nodes import positions

            ids, labels = self._read_kept(kept_labels, self.num_classes)
            place = torch.from_numpy(positions(asked.graph_ids, ids))
            labelled = (place >= 0).nonzero()[:, 0]
            y, number = labels[place], place[labelled]
        x = append_labels(asked.x, y, labelled, self.num_classes)
        return x, asked.graph, labelled, number

    def _read_kept(self, read: Callable[..., T], *sizes: int) -> T:
        """What the run keeps of its training rows.

        Raises:
            CheckpointError: It is damaged.
        """
        if self.kept is not None:
            return read(self.kept, *sizes)
        assert self.folder is not None, "a run keeps its training rows, or has a folder that does"
        tensors = self.folder.read_weights(self.folder.read())
        with reading(self.folder.path):
            own = {name.removeprefix(EXTRA_TENSORS): tensor for name, tensor in tensors.items()}
            return read(own, *sizes)

    @property
    def _has_tables(self) -> bool:
        """Whether the tables of training are in memory, or were files."""
        return self.tables[0] is not None or bool(self.plan.tables and self.plan.tables.nodes)

    def _named_data(self, dataset: str | None, data_root: Path | str | None) -> NodeData:
        if dataset is None:
            other = (
                "train again" if self.plan.tables is None else "name what to predict with `nodes`"
            )
            return self._training_data(data_root, f"Restore it, or {other}.")
        run = replace(self.plan.run, dataset=dataset, split=None)
        data = replace(self.plan, run=run, tables=None).load(data_root or self.data_root)
        sizes = self.facts.num_features, len(self.facts.class_names)
        if (data.num_features, data.num_classes) != sizes:
            raise DataError(
                f"The model of {self._where} takes {sizes[0]} features and {sizes[1]} classes, "
                f"but {data.name} has {data.num_features} and {data.num_classes}."
            )
        if data.class_names != self.facts.class_names:
            ours, theirs = (
                ", ".join(each)[:200] for each in (self.facts.class_names, data.class_names)
            )
            raise DataError(
                f"The model of {self._where} has the classes {ours}, but {data.name} has {theirs}."
            )
        return data

    def _read_tables(self, nodes: Any, edges: Any, unknown_ids: str | None) -> Any:
        from akgnn.data.tables.prediction import read_for_prediction

        settings, recipe = self.plan.tables, self.facts.recipe
        if settings is None or recipe is None:
            raise SettingsError(
                f"The run in {self._where} was trained on {self.plan.run.dataset}, not on tables: "
                "it knows no columns by which to read `nodes`."
            )
        if unknown_ids is not None:
            settings = settings.updated({"unknown_ids": unknown_ids})
        if settings.has_no_edges:
            if edges is not None:
                raise SettingsError(
                    "The run was trained without a table of edges: new rows are linked to the "
                    "nearest rows of training. Leave `edges` out."
                )
            from akgnn.data.tables.nearest import read_near

            training = self._read_kept(kept_rows, len(recipe.feature_names), self.num_classes)
            direction = self.plan.run.direction
            return read_near(settings, recipe, training, nodes=nodes, direction=direction)

        def known() -> tuple[Any, Any]:
            advice = "The new edges lead to its nodes: restore it, or leave those edges out."
            self._training_data(None, advice)
            return self.tables if self.tables[0] is not None else (settings.nodes, settings.edges)

        return read_for_prediction(
            settings,
            recipe,
            nodes=nodes,
            edges=edges,
            known=known if self._has_tables else None,
            direction=self.plan.run.direction,
        )

    @property
    def versions(self) -> dict[str, str]:
        """The versions of what computed the run.

        Raises:
            CheckpointError: The folder's record is damaged.
        """
        if self.folder is None:
            return versions()
        with reading(self.folder.path):
            return from_json(dict[str, str], self.folder.read()["versions"], "versions")

    @property
    def _where(self) -> str:
        return "this run" if self.folder is None else str(self.folder.path)

    @property
    def name(self) -> str:
        """Its model and preset, and how many others vote with it."""
        run, others = self.plan.run, len(shares_by_name(self.votes)) - 1
        more = f" and {others} more" if others > 0 else ""
        return f"{run.model} ({run.preset}){more}"

    def __repr__(self) -> str:
        return line_of(self)

    def _repr_html_(self) -> str:
        return card_of(self)

    def to_dict(self) -> dict[str, Any]:
        """The result in one flat object, as `--json` prints it."""
        return object_of(self)


def _plain(ids: Any) -> list[Any] | None:
    """Ids as Python's own numbers and texts."""
    if ids is None:
        return None
    return ids.to_pylist() if hasattr(ids, "to_pylist") else list(ids)
