import gc
import pickle
import subprocess
import sys
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import akgnn
from akgnn.data.catalogue import load_dataset
from akgnn.data.splits import Split
from akgnn.errors import DataError, SettingsError
from akgnn.estimator.classifier import AKGNNClassifier
from akgnn.graph import Graph
from quick_estimator import quick


# The checks make warnings of their own and read them. What they ask is learned in few epochs.
@pytest.mark.filterwarnings("default")
@parametrize_with_checks([AKGNNClassifier(epochs=30, learning_rate=0.05)])
def test_it_keeps_the_rules_of_scikit_learn(estimator, check):
    check(estimator)


def test_it_learns_a_table(table):
    x, y = table
    assert cross_val_score(AKGNNClassifier(random_state=0), x, y, cv=3).mean() > 0.95


def test_it_is_part_of_a_pipeline_and_of_a_grid(table):
    x, y = table
    pipeline = make_pipeline(StandardScaler(), quick())
    grid = {"akgnnclassifier__n_neighbors": np.arange(3, 6, 2)}
    search = GridSearchCV(pipeline, grid, cv=2).fit(x, y)
    assert search.best_params_["akgnnclassifier__n_neighbors"] in (3, 5)
    assert search.score(x, y) > 0.9


def test_a_graph_goes_through_a_pipeline(table, graph):
    x, y = table
    pipeline = make_pipeline(StandardScaler(), quick())
    pipeline.fit(x, y, akgnnclassifier__graph=graph)
    assert pipeline.score(x, y) > 0.9


def test_a_clone_and_a_pickle_say_the_same(table):
    x, y = table
    one = quick().fit(x, y)
    expected = one.predict_proba(x)
    assert np.array_equal(clone(one).fit(x, y).predict_proba(x), expected)
    assert np.array_equal(pickle.loads(pickle.dumps(one)).predict_proba(x), expected)


def test_the_random_state_decides(table):
    x, y = table
    generator = np.random.RandomState(5)
    first = quick(random_state=generator).fit(x, y).predict_proba(x)
    again = quick(random_state=np.random.RandomState(5)).fit(x, y).predict_proba(x)
    other = quick(random_state=generator).fit(x, y).predict_proba(x)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert quick(random_state=None).fit(x, y).predict_proba(x).shape == (90, 3)


def test_what_was_learned_can_be_read(table):
    x, y = table
    fitted = quick(kernel="paper", num_layers=4).fit(x, y)
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert fitted.n_features_in_ == 4
    assert fitted.lambda_max_.shape == (4,)
    assert (fitted.lambda_max_ >= 1).all()
    assert fitted.neighbour_share_.shape == (4,)
    assert len(fitted.history_["val_loss"]) == 30
    assert 1 <= fitted.best_epoch_ <= 30
    assert fitted.transform(x).shape == (90, 8)
    assert len(fitted.get_feature_names_out()) == 8


def test_the_signed_kernel_has_no_lambda(table):
    fitted = quick().fit(*table)
    assert fitted.lambda_max_.shape == (0,)
    assert fitted.neighbour_share_.shape == (3,)


def test_probabilities_add_up_and_predictions_follow_them(table):
    x, y = table
    fitted = quick().fit(x, y)
    probability = fitted.predict_proba(x)
    assert np.allclose(probability.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert np.array_equal(fitted.predict(x), fitted.classes_[probability.argmax(axis=1)])


def test_new_rows_do_not_know_of_each_other(table):
    x, y = table
    fitted = quick().fit(x[::2], y[::2])
    together = fitted.predict_proba(x[1::2])
    alone = np.concatenate([fitted.predict_proba(row[None]) for row in x[1::2]])
    assert np.allclose(together, alone, rtol=0, atol=1e-12)


def test_a_training_row_is_seen_as_in_training(table):
    """At the chosen epoch: the history was measured on the training graph itself."""
    x, y = table
    fitted = quick(validation_fraction=0.0).fit(x, y)
    accuracy = 100 * np.mean(fitted.predict(x) == y)
    assert accuracy == pytest.approx(fitted.history_["train_accuracy"][fitted.best_epoch_ - 1])
    loss = -np.log(fitted.predict_proba(x)[np.arange(90), y]).mean()
    assert loss == pytest.approx(fitted.history_["train_loss"][fitted.best_epoch_ - 1], rel=1e-4)


@pytest.mark.parametrize(
    "labels",
    [
        lambda y: np.array(["ant", "bee", "cat"])[y],
        lambda y: np.array(["ant", "bee", "cat"], dtype=object)[y],
        lambda y: y > 0,
        lambda y: y.astype(float),
        lambda y: y.astype(np.uint8),
        lambda y: np.array([10, -7, 3])[y],
        lambda y: pd.Series(np.array(["ant", "bee", "cat"])[y]),
        lambda y: pl.Series(np.array(["ant", "bee", "cat"])[y]),
        lambda y: y.tolist(),
    ],
    ids=["text", "objects", "bool", "float", "uint8", "negative", "pandas", "polars", "list"],
)
def test_labels_of_many_kinds_come_back(table, labels):
    x, y = table
    given = labels(y)
    fitted = quick().fit(x, given)
    assert fitted.classes_.tolist() == sorted(set(np.asarray(given).tolist()))
    assert np.mean(fitted.predict(x) == np.asarray(given)) > 0.9
    assert fitted.score(x, given) > 0.9


@pytest.mark.parametrize(
    "hide",
    [
        lambda y, hidden: np.where(hidden, -1, y),
        lambda y, hidden: np.where(hidden, np.nan, y),
        lambda y, hidden: np.where(hidden, None, y),
        lambda y, hidden: pd.Series(np.where(hidden, None, y)).astype("Int64"),
        lambda y, hidden: pl.Series(
            [None if h else int(v) for v, h in zip(y, hidden, strict=True)]
        ),
        lambda y, hidden: np.where(hidden, float("nan"), y.astype(object)),
    ],
    ids=["minus one", "nan", "none", "pandas", "polars", "nan among objects"],
)
def test_rows_without_a_label_are_learned_with(table, hide):
    x, y = table
    hidden = np.arange(90) % 3 > 0
    given = hide(y, hidden)
    fitted = quick().fit(x, given)
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert np.array_equal(
        fitted.predict_proba(x), quick().fit(x, np.where(hidden, -1, y)).predict_proba(x)
    )
    # They do not count.
    assert fitted.score(x, given) == np.mean(fitted.predict(x)[~hidden] == y[~hidden])
    assert np.mean(fitted.predict(x) == y) > 0.85


def test_a_list_of_text_may_have_holes(table):
    x, y = table
    names = ["ant", "bee", "cat"]
    given = [float("nan") if i % 3 else names[label] for i, label in enumerate(y)]
    assert quick().fit(x, given).classes_.tolist() == names


def test_minus_one_and_one_alone_are_two_classes(table):
    x, y = table
    given = np.where(y == 0, -1, 1)
    fitted = quick().fit(x, given)
    assert fitted.classes_.tolist() == [-1, 1]
    assert fitted.score(x, given) == np.mean(fitted.predict(x) == given)


def test_one_class_is_always_predicted(table):
    x, _ = table
    fitted = quick(epochs=3).fit(x, np.full(90, 7))
    assert set(fitted.predict(x)) == {7}
    assert (fitted.predict_proba(x) == 1).all()


def test_few_labels_choose_the_epoch_themselves(table):
    x, y = table
    given = np.full(90, -1)
    given[[0, 30, 60]] = [0, 1, 2]
    fitted = quick().fit(x, given)
    assert fitted.history_["val_loss"] == fitted.history_["train_loss"]
    assert np.mean(fitted.predict(x) == y) > 0.6


def test_one_row_is_enough():
    fitted = quick(epochs=3).fit([[1.0, 2.0]], ["a"])
    assert fitted.predict([[1.0, 2.0], [5.0, 5.0]]).tolist() == ["a", "a"]


def test_a_graph_of_any_kind_gives_the_same(table, graph):
    x, y = table
    matrix = sparse.csr_array((np.ones(graph.num_edges), graph.edge_index.numpy()), shape=(90, 90))
    undirected = nx.Graph()
    undirected.add_nodes_from(range(90))
    undirected.add_edges_from(graph.edge_index.T.tolist())
    once = {"epochs": 10, "settings": {"several_starts": False}}
    fitted = quick(**once).fit(x, y, graph=graph)
    expected = fitted.predict_proba(x)
    one_way = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
    from torch_geometric.data import Data

    pyg = Data(edge_index=graph.edge_index, num_nodes=90)
    index = graph.edge_index
    for same in (matrix, undirected, index, index.numpy(), index.tolist(), one_way, pyg):
        assert np.array_equal(quick(**once).fit(x, y, graph=same).predict_proba(x), expected)
        assert np.array_equal(fitted.predict_proba(x, graph=same), expected)


def test_a_directed_graph_stays_one_where_the_settings_can_use_it(table, graph):
    x, y = table
    index = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
    row = {"normalisation": "row"}
    one = quick(settings=row).fit(x, y, graph=index).predict_proba(x)
    other = quick(settings=row).fit(x, y, graph=graph).predict_proba(x)
    assert not np.allclose(one, other)


def test_a_model_of_a_graph_sees_another_graph(table, graph):
    x, y = table
    fitted = quick().fit(x, y, graph=graph)
    part = graph.edge_index[:, (graph.edge_index < 30).all(0)]
    assert fitted.predict(x[:30], graph=part).tolist() == [0] * 30
    with pytest.raises(DataError, match=r"not the table that came with it: pass the graph"):
        fitted.predict(x[:30])


def test_tables_may_be_sparse_or_frames(table, graph):
    x, y = table
    dense = quick(standardize=False)
    for link in (None, graph):
        expected = dense.fit(x, y, graph=link).predict_proba(x)
        sparse_fit = quick(standardize=False).fit(sparse.csr_matrix(x), y, graph=link)
        assert np.allclose(sparse_fit.predict_proba(sparse.csr_array(x)), expected, atol=1e-5)
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"])
    fitted = quick().fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert np.array_equal(fitted.predict(frame), quick().fit(x, y).predict(x))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame.rename(columns={"a": "z"}))


def test_a_sparse_model_takes_dense_rows_and_the_other_way_round(table):
    x, y = table
    on_sparse = quick().fit(sparse.csr_array(x), y)
    assert np.allclose(on_sparse.predict_proba(x), on_sparse.predict_proba(sparse.csr_array(x)))
    on_dense = quick().fit(x, y)
    assert np.allclose(on_dense.predict_proba(x), on_dense.predict_proba(sparse.csr_array(x)))


def test_scales_do_not_matter_unless_asked(table):
    x, y = table
    stretched = x * np.array([1e6, 1e-6, 1, 1])
    expected = quick().fit(x, y).predict_proba(x)
    assert np.allclose(quick().fit(stretched, y).predict_proba(stretched), expected, atol=1e-5)
    raw = quick(standardize=False).fit(stretched, y).predict_proba(stretched)
    assert not np.allclose(raw, expected, atol=0.01)


def test_standardize_holds_on_a_graph_too(table, graph):
    x, y = table
    stretched = x * np.array([1e6, 1e-6, 1, 1])
    one = quick(standardize=True).fit(x, y, graph=graph).predict_proba(x)
    other = quick(standardize=True).fit(stretched, y, graph=graph).predict_proba(stretched)
    assert np.allclose(one, other, atol=1e-4)


def test_arguments_reach_the_settings(table):
    fitted = quick(
        dropout=np.float64(0.25),
        kernel="smooth",
        num_layers=np.int64(2),
        learning_rate=0.02,
        weight_decay=0,
        patience=7,
        settings={"readout": "sum", "strategy": "consistency", "passes": np.int64(2)},
    ).fit(*table)
    settings = fitted.fitted_.preset.to_dict()
    model, training = settings["model"], settings["training"]
    assert (model["kernel"], model["kernel_start"], model["readout"]) == ("smooth", None, "sum")
    dropouts = [model[f"{place}_dropout"] for place in ("input", "transform", "classifier")]
    assert dropouts == [0.0, 0.25, 0.25]
    assert (training["learning_rate"], training["weight_decay"]) == (0.02, 0.0)
    assert (training["epochs"], training["patience"]) == (30, 7)
    assert settings["strategy"]["passes"] == 2


def test_the_preset_fits_the_task(table, graph):
    x, y = table
    on_graph = quick().fit(x, y, graph=graph).fitted_.preset.to_dict()
    assert (on_graph["model"]["normalisation"], on_graph["training"]["patience"]) == ("sym", 200)
    without = quick().fit(x, y).fitted_.preset.to_dict()
    assert (without["model"]["normalisation"], without["training"]["patience"]) == ("row", 50)
    paper = quick(preset="paper").fit(x, y).fitted_.preset.to_dict()
    assert (paper["model"]["num_layers"], paper["model"]["normalisation"]) == (5, "row")


def test_cora_is_learned_from_its_own_split():
    data = load_dataset("cora")
    fitted = AKGNNClassifier(preset="paper", epochs=80, random_state=0).fit(data)
    assert fitted.score(data) >= 0.8
    assert fitted.predict_proba(data).shape == (2708, 7)
    assert set(fitted.predict(data)) <= set(data.class_names)
    with pytest.raises(DataError, match="citeseer has 3703 features, but the model expects 1433"):
        fitted.predict(load_dataset("citeseer"))


def test_the_test_nodes_of_node_data_count():
    data = load_dataset("csbm:num_nodes=200,homophily=0.8")
    fitted = quick(epochs=3).fit(data)
    names, test = np.array(data.class_names)[data.y], data.split.test
    assert fitted.score(data) == np.mean(fitted.predict(data)[test] == names[test])
    untested = Split("x", data.split.train, data.split.val, test[:0])
    with pytest.raises(DataError, match="There is no label to compare with"):
        fitted.score(data.with_split(untested))


def test_directed_node_data_are_made_undirected_like_any_graph():
    data = load_dataset("csbm:num_nodes=200,homophily=0.8")
    index = data.graph.edge_index
    one_way = Graph.from_edge_index(index[:, index[0] < index[1]], num_nodes=200)
    directed = replace(data, graph=one_way)
    expected = quick(epochs=3).fit(data).predict_proba(data)
    assert np.array_equal(quick(epochs=3).fit(directed).predict_proba(directed), expected)


def test_a_table_on_the_graph_of_cora_agrees_with_its_node_data():
    data = load_dataset("cora")
    rows, nodes = data.split.train, data.y.numpy()
    y = np.full(2708, -1)
    y[rows] = nodes[rows]
    x = data.x.to_dense().numpy()
    quick_cora = {"preset": "paper", "epochs": 20, "validation_fraction": 0.0}
    given = AKGNNClassifier(random_state=0, **quick_cora).fit(x, y, graph=data.graph)
    split = Split("all", rows, rows, rows[:0], chooses_on_train=True)
    whole = AKGNNClassifier(random_state=0, **quick_cora).fit(data.with_split(split))
    assert np.allclose(given.predict_proba(x), whole.predict_proba(data), atol=1e-3)


def test_scikit_learn_is_loaded_when_it_is_needed_and_its_extra_is_named():
    code = (
        "import sys, akgnn; assert 'sklearn' not in sys.modules; sys.modules['sklearn'] = None\n"
        "try:\n    akgnn.AKGNNClassifier\n"
        "except akgnn.AkgnnError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "AKGNNClassifier needs an optional package: pip install 'akgnn[sklearn]'" in done.stdout
    assert akgnn.AKGNNClassifier is AKGNNClassifier


def test_rare_classes_may_weigh_as_much_as_frequent_ones():
    draw = np.random.default_rng(0)
    y = np.repeat([0, 1], [95, 5])
    X = draw.normal(size=(100, 2)) + 0.8 * y[:, None]  # noqa: N806
    plain = AKGNNClassifier(epochs=60, random_state=0).fit(X, y)
    weighed = AKGNNClassifier(epochs=60, random_state=0, settings={"class_weight": "balanced"}).fit(
        X, y
    )
    assert weighed.predict(X).sum() > plain.predict(X).sum()


@pytest.fixture(scope="module")
def unbalanced():
    """60 rows of one class and 12 of another, which overlap."""
    rng = np.random.default_rng(1)
    y = np.array(["common"] * 60 + ["rare"] * 12)
    return rng.standard_normal((72, 3)) + (y == "rare")[:, None], y


def test_weights_of_classes_move_the_balance(unbalanced):
    x, y = unbalanced

    def rare(weight):
        return np.mean(quick(class_weight=weight).fit(x, y).predict(x) == "rare")

    assert rare(None) < rare("balanced") < rare({"common": 1e-6, "rare": 1e3})
    same = quick(settings={"class_weight": "balanced"}).fit(x, y).predict_proba(x)
    assert np.array_equal(quick(class_weight="balanced").fit(x, y).predict_proba(x), same)


def test_weights_of_classes_of_node_data_go_by_name():
    data = load_dataset("csbm:num_nodes=60")
    plain, heavy = quick().fit(data), quick(class_weight={"0": 1e3}).fit(data)
    assert (heavy.predict(data) == "0").sum() > (plain.predict(data) == "0").sum()
    with pytest.raises(SettingsError, match="a weight for 'x', which is no class"):
        quick(class_weight={"x": 1.0}).fit(data)


def test_weights_of_classes_go_wherever_scikit_learn_takes_a_classifier(unbalanced):
    x, y = unbalanced
    grid = {"akgnnclassifier__class_weight": [None, "balanced", {"rare": 2.0}]}
    search = GridSearchCV(make_pipeline(StandardScaler(), quick()), grid, cv=2).fit(x, y)
    assert "akgnnclassifier__class_weight" in search.best_params_
    balanced = quick(class_weight="balanced")
    assert set(cross_val_predict(balanced, x, y, cv=2)) == {"common", "rare"}
    calibrated = CalibratedClassifierCV(balanced, cv=2).fit(x, y)
    assert calibrated.predict_proba(x).shape == (72, 2)
    frame = pd.DataFrame(x, columns=list("abc"))
    embedded = balanced.set_output(transform="pandas").fit(frame, y).transform(frame)
    assert isinstance(embedded, pd.DataFrame)
    assert embedded.shape == (72, 8)


def test_nothing_is_kept_of_one_fit_after_another(table, graph):
    x, y = table

    def fit_some(number):
        for seed in range(number):
            quick(epochs=2, random_state=seed).fit(x, y).predict(x)
            quick(epochs=2, random_state=seed).fit(x, y, graph=graph).predict(x)
        gc.collect()
        return len(gc.get_objects())

    # The first ones load modules and fill tables that have a limit.
    fit_some(4)
    before = fit_some(2)
    # Fewer than one object a fit.
    assert fit_some(15) - before < 15
