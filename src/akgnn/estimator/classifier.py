"""`AKGNNClassifier`, scikit-learn's way into the library."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from akgnn.data.neighbours import Neighbours
from akgnn.data.node_data import NodeData
from akgnn.data.splits import split_for_validation
from akgnn.errors import DataError, MissingExtraError
from akgnn.files import as_path
from akgnn.machine.device import choose_device
from akgnn.models.adaptive_network import AdaptiveNetwork
from akgnn.runs.choice import choose
from akgnn.runs.jobs import Job, run_job
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.presets import Preset

try:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        TransformerMixin,
    )
    from sklearn.metrics import accuracy_score
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import (
        check_consistent_length,
        check_is_fitted,
        column_or_1d,
        validate_data,
    )
except ImportError as error:
    raise MissingExtraError("AKGNNClassifier", "sklearn") from error

from akgnn.estimator.arguments import (
    RowSettings,
    class_weights,
    decide_settings,
    plain_arguments,
)
from akgnn.estimator.fitted import Fitted, undirected_if_needed
from akgnn.estimator.frames import (
    column_names,
    holds_other_than_numbers,
    is_frame,
    learn_rows,
    rows_of,
)
from akgnn.estimator.inputs import as_features, as_graph, checked_table, fingerprint, scaled
from akgnn.estimator.labels import (
    encode_labels,
    has_label,
    label_array,
    plain_labels,
    printable_name,
)
from akgnn.estimator.neighbours import ByMetric
from akgnn.graph import Graph

if TYPE_CHECKING:
    from akgnn.data.tables.recipe import FeatureRecipe

# What tables may hold; others become the first.
_DTYPES = (np.float64, np.float32)


def _first(presets: Mapping[str, Preset]) -> Preset:
    """The preset by which a graph is prepared: all agree on its form."""
    return next(iter(presets.values()))


class AKGNNClassifier(
    ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator
):
    """Classify rows of a table, joined by a graph, some of whose labels are known.

    `fit(X, y, graph=…)` learns on a graph with one node for each row of X, `fit(data)` on a
    `NodeData` with its own split. Without a graph each row is linked to its nearest neighbours, and
    the estimator works wherever scikit-learn expects a classifier. The columns of a DataFrame may
    be numbers, categories, texts, dates, true and false, with values missing.

    Args:
        preset: Where the settings come from: a preset of the model `akgnn`. `auto` tries a few on a
            graph, and validation rows choose; without a graph it is `nearest-neighbours`. To name
            one is several times faster.
        kernel: How a layer weighs a node against its neighbours: `paper`, `smooth` or `signed`.
            This and the next eight are the preset's where they are None.
        hidden_channels: Width of the hidden signals.
        num_layers: Number K of propagation layers.
        dropout: Rate in all places where the preset drops anything.
        learning_rate: Learning rate of Adam.
        weight_decay: L2 penalty on the weights.
        epochs: The most epochs.
        patience: Stop after so many epochs without a better validation score.
        class_weight: How classes weigh in the loss: `balanced`, all the same however many rows they
            have; or a dictionary of weights by class, 1 for those left out.
        n_neighbors: Neighbours of a row, where no graph is given.
        metric: What near means: a distance that scikit-learn's `NearestNeighbors` knows.
        standardize: Whether columns are brought to mean 0 and variance 1. None does it to dense
            tables without a graph. Where columns are prepared it is for those of numbers.
        prepare: Whether the columns of a DataFrame are prepared by what they are, as those of
            `akgnn train` are. None does it where one holds anything but numbers, or lacks a value.
        validation_fraction: Share of the labelled rows of each class that choose the epoch. Classes
            of fewer than five give none; where nobody is left, or with 0, the training rows choose.
        settings: Any other settings of the model, its training or its strategy by name.
        random_state: Seed of the validation rows, the initial weights and dropout.
        device: auto, cpu, cuda or cuda:1.

    Attributes:
        classes_: The classes in ascending order.
        n_features_in_: Number of columns.
        feature_names_in_: Their names, if X had any.
        lambda_max_: λ of every layer; empty for the kernel `signed`, which has none.
        neighbour_share_: What every layer takes from neighbours, from -1 to 1.
        history_: Losses, accuracies and learned scalars by epoch.
        best_epoch_: The epoch that validation chose, counted from 1.
        preset_: The preset that was used.
    """

    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    lambda_max_: NDArray[np.float64]
    neighbour_share_: NDArray[np.float64]
    history_: dict[str, list[Any]]
    best_epoch_: int
    preset_: str
    fitted_: Fitted

    def __init__(
        self,
        *,
        preset: str = "auto",
        kernel: str | None = None,
        hidden_channels: int | None = None,
        num_layers: int | None = None,
        dropout: float | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        epochs: int | None = None,
        patience: int | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        n_neighbors: int = 10,
        metric: str = "euclidean",
        standardize: bool | None = None,
        prepare: bool | None = None,
        validation_fraction: float = 0.1,
        settings: Mapping[str, Any] | None = None,
        random_state: Any = None,
        device: str = "auto",
    ) -> None:
        self.preset = preset
        self.kernel = kernel
        self.hidden_channels = hidden_channels
        self.num_layers = num_layers
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.patience = patience
        self.class_weight = class_weight
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.standardize = standardize
        self.prepare = prepare
        self.validation_fraction = validation_fraction
        self.settings = settings
        self.random_state = random_state
        self.device = device

    def fit(self, X: Any, y: Any = None, *, graph: Any = None) -> Self:  # noqa: N803
        """Learn from the labelled rows.

        Args:
            X: Features, one row a node: an array, a SciPy sparse matrix, or a DataFrame of pandas,
                polars or pyarrow; or a `NodeData`, which holds all there is to know.
            y: One label a row; None, NaN or -1 where it is not known. Where -1 and 1 are all there
                is, both are classes.
            graph: A `Graph`, SciPy matrix, NetworkX graph, PyG data or `edge_index`, node i being
                row i. If None, each row is linked to its nearest neighbours.
        """
        device = choose_device(self.device)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if isinstance(X, NodeData):
            if y is not None or graph is not None:
                raise DataError("NodeData holds its labels and its graph; leave y and graph out.")
            presets = decide_settings(self, has_graph=True)
            x = X.x.float() if isinstance(X.x, Tensor) else X.x
            weight = class_weights(self, X.class_names)
            data = replace(X, x=x, graph=undirected_if_needed(X.graph, _first(presets)))
            if weight is not None:
                data = replace(data, class_weight=weight.to(X.y.device))
            self.classes_ = np.array(X.class_names)
            self.n_features_in_ = X.num_features
            # Of an earlier fit.
            self.__dict__.pop("feature_names_in_", None)
            parts: dict[str, Any] = {}
        else:
            presets = decide_settings(self, has_graph=graph is not None)
            data, parts = self._table_data(X, y, graph, _first(presets), seed)
        data = data.to(device)
        plans = [
            RunPlan(RunSettings(dataset=data.name, preset=name, seed=seed), preset)
            for name, preset in presets.items()
        ]
        plan, start = plans[0], None
        # Rows that were trained on cannot choose.
        if len(plans) > 1 and not data.split.chooses_on_train:
            chosen = choose(plans, data).chosen
            plan, start = chosen.plan, chosen.snapshot
        self.set_fitted(Fitted(run_job(Job(plan, starts=(start,)), data), **parts))
        return self

    def set_fitted(self, fitted: Fitted) -> None:
        """Take over what was learned."""
        result = fitted.run.result
        self.fitted_ = fitted
        self.lambda_max_ = np.array(result.lambda_max, dtype=np.float64)
        self.neighbour_share_ = np.array(result.neighbour_share, dtype=np.float64)
        self.history_ = {name: rows for name, rows in result.history.to_dict().items() if rows}
        self.best_epoch_ = result.best_epoch
        self.preset_ = fitted.run.plan.run.preset

    def predict(self, X: Any, graph: Any = None) -> NDArray[Any]:  # noqa: N803
        """The likeliest class of every row.

        Args:
            X: Features, with the columns of training; or a `NodeData`.
            graph: The graph of these rows, for a model that was trained on a graph. It may be left
                out for the training table itself.
        """
        likeliest = self.predict_proba(X, graph).argmax(axis=1)
        return cast(NDArray[Any], self.classes_[likeliest])

    def predict_proba(self, X: Any, graph: Any = None) -> NDArray[np.float64]:  # noqa: N803
        """The probability of every class, a column each in the order of `classes_`."""
        logits = self._ask("forward", X, graph)
        calibration = self.fitted_.run.result.calibration
        return cast(NDArray[np.float64], calibration.scaled(logits).softmax(1).numpy())

    def transform(self, X: Any, graph: Any = None) -> NDArray[np.float64]:  # noqa: N803
        """The embedding of every row: what the classifier on top of the network sees."""
        return cast(NDArray[np.float64], self._ask("embed", X, graph).numpy())

    def score(
        self,
        X: Any,  # noqa: N803
        y: Any = None,
        sample_weight: Any = None,
        graph: Any = None,
    ) -> float:
        """Share of rows whose class is predicted, from 0 to 1.

        Rows without a label do not count. Of a `NodeData` the test nodes count.
        """
        predicted = self.predict(X, graph)
        if isinstance(X, NodeData):
            y = np.array([*X.class_names, None])[X.y.cpu().numpy()]
            others = np.ones(len(y), dtype=np.bool_)
            others[X.split.test.cpu().numpy()] = False
            y[others] = None
        labels = column_or_1d(label_array(y))
        check_consistent_length(predicted, labels)
        known = has_label(labels, minus_one_is_class=-1 in self.classes_.tolist())
        if not known.any():
            raise DataError("There is no label to compare with: y has none, or no test nodes.")
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        right = plain_labels(labels[known])
        return float(accuracy_score(right, predicted[known], sample_weight=weight))

    def save(self, folder: str | Path) -> None:
        """Keep the fitted estimator in a folder: JSON and safetensors, nothing that can run.

        Args:
            folder: A new or empty one, or one that holds an estimator, which is replaced.
        """
        from akgnn.estimator.folder import write_estimator

        check_is_fitted(self)
        write_estimator(as_path("The folder of an estimator", folder), self)

    @classmethod
    def load(cls, folder: str | Path) -> "AKGNNClassifier":
        """The estimator that `save` kept in a folder; safe with a folder from a stranger."""
        from akgnn.estimator.folder import read_estimator

        return read_estimator(as_path("The folder of an estimator", folder), cls)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _n_features_out(self) -> int:
        """Width of the embedding."""
        return int(
            cast(Tensor, cast(AdaptiveNetwork, self.fitted_.run.model).classifier[0].weight).size(0)
        )

    def _table_data(
        self,
        X: Any,  # noqa: N803
        y: Any,
        graph: Any,
        preset: Preset,
        seed: int,
    ) -> tuple[NodeData, dict[str, Any]]:
        """The data to train on, and what to keep of them."""
        options = RowSettings(**plain_arguments(self, RowSettings.names()))
        if isinstance(X, Graph):
            raise DataError("X must be a table of features; pass the graph as graph=….")
        if y is None:
            raise DataError("AKGNNClassifier requires y to be passed, but the target y is None.")
        given, recipe = self._learn_rows(X, options)
        labels = column_or_1d(label_array(y), warn=True)
        check_consistent_length(given, labels)
        self.classes_, codes = encode_labels(labels)
        # Prepared columns are scaled already.
        standardize = options.standardize if recipe is None else False
        x, scaling = scaled(given, standardize, has_graph=graph is not None)
        parts: dict[str, Any] = {"scaling": scaling, "is_prepared": recipe is not None}
        if graph is None:
            neighbours = Neighbours.build(x, options.n_neighbors, ByMetric(options.metric))
            parts["neighbours"], seen = neighbours, neighbours.graph()
        else:
            seen = undirected_if_needed(as_graph(graph, given.shape[0]), preset)
            parts |= {"graph": seen, "rows": fingerprint(given)}
        known = torch.tensor(codes)
        split = split_for_validation(known, val=options.validation_fraction, seed=seed)
        names = tuple(printable_name(label) for label in self.classes_.tolist())
        weight = class_weights(self, self.classes_.tolist())
        data = NodeData("table", as_features(x), known, seen, split, names, class_weight=weight)
        return replace(data, recipe=recipe), parts

    def _learn_rows(self, X: Any, options: RowSettings) -> tuple[Any, "FeatureRecipe | None"]:  # noqa: N803
        """The features of the training table, and how they were made where they were prepared."""
        prepare = options.prepare
        if prepare is None:
            prepare = holds_other_than_numbers(X)
        elif prepare and not is_frame(X):
            raise DataError(
                "prepare=True needs a DataFrame, whose columns have names and kinds; "
                f"got {type(X).__name__}."
            )
        if not prepare:
            return self._checked_rows(X, is_new=True), None
        validate_data(self, X, skip_check_array=True)
        return learn_rows(X, self._column_names, standardise=bool(options.standardize))

    def _checked_rows(self, X: Any, *, is_new: bool) -> Any:  # noqa: N803
        """A table of numbers, by the rules of scikit-learn."""
        table = checked_table(X)
        return validate_data(self, table, accept_sparse="csr", dtype=_DTYPES, reset=is_new)

    @property
    def _column_names(self) -> list[str]:
        return column_names(self.n_features_in_, getattr(self, "feature_names_in_", None))

    def _ask(self, method: Literal["forward", "embed"], X: Any, graph: Any) -> Tensor:  # noqa: N803
        check_is_fitted(self)
        device = choose_device(self.device)
        if isinstance(X, NodeData):
            if graph is not None:
                raise DataError("NodeData holds its graph; leave graph out.")
            placed = self.fitted_.place_data(X, self.fitted_.run.facts.num_features)
        else:
            placed = self.fitted_.place(self._rows(X), graph)
        return self.fitted_.ask(placed, device, method)

    def _rows(self, X: Any) -> Any:  # noqa: N803
        """The features of a table, made as in training."""
        recipe = self.fitted_.recipe
        if recipe is None:
            return self._checked_rows(X, is_new=False)
        if is_frame(X):
            validate_data(self, X, skip_check_array=True, reset=False)
        return rows_of(X, self._column_names, recipe)
