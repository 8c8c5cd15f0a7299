import pytest
import torch

import akgnn
from akgnn.csr import CSR
from akgnn.data.catalogue import (
    REGISTERED,
    check_dataset,
    dataset_names,
    generated_settings,
    generated_sizes,
    graph_name,
    is_random_split,
    load_dataset,
    register_dataset,
)
from akgnn.data.node_data import NodeData
from akgnn.data.splits import Split
from akgnn.errors import DataError, SettingsError, UnknownNameError
from akgnn.graph import Graph


def test_cora_is_the_default_with_normalised_sparse_features():
    data = load_dataset()
    assert data.name == "cora"
    assert isinstance(data.x, CSR)
    assert float(data.x.to_dense().sum(1).max()) == pytest.approx(1)


def test_features_can_be_left_raw():
    assert float(load_dataset("cora", features="raw").x.to_dense().max()) == 1


def test_generated_features_are_not_normalised_unless_asked():
    raw = load_dataset("csbm", features="raw").x
    assert torch.equal(load_dataset("csbm").x, raw)
    assert not torch.equal(load_dataset("csbm", features="row-normalised").x, raw)


def test_settings_of_the_generated_graph_follow_a_colon():
    data = load_dataset("csbm:homophily=0.2,num_nodes=400,seed=3")
    assert data.graph.num_nodes == 400
    assert data.edge_homophily == pytest.approx(0.2, abs=1e-3)


def test_the_large_graph_takes_settings_too():
    data = load_dataset("large:num_nodes=4e3,num_classes=4,degree=6,num_features=5")
    assert data.graph.num_nodes == 4000
    assert data.x.shape == (4000, 5)
    assert data.graph.num_edges / 4000 == pytest.approx(6, rel=0.05)
    assert generated_settings("large:num_nodes=4000") is None


@pytest.mark.parametrize("homophily", [0, 1])
def test_a_generated_graph_may_have_edges_of_one_kind_only(homophily):
    data = load_dataset(f"csbm:homophily={homophily},seed=3")
    assert data.edge_homophily == homophily
    assert data.graph.num_edges == 20_000


@pytest.mark.parametrize("name", ["cora", "csbm:num_nodes=100"])
def test_an_undirected_graph_is_the_same_either_way(name):
    data, kept = load_dataset(name), load_dataset(name, direction="kept")
    assert torch.equal(data.graph.edge_index, kept.graph.edge_index)
    assert data.source == kept.source


@pytest.mark.parametrize(
    ("split", "is_random"),
    [("public", False), ("public-3", False), ("20-per-class", True), ("60/20/20", True)],
)
def test_published_splits_are_not_random(split, is_random):
    assert is_random_split(split) == is_random


@pytest.mark.parametrize(
    ("split", "name"),
    [
        ("public", "public"),
        ("public-0", "public"),
        ("20-per-class", "random-20-per-class-seed-4"),
        ("60/20/20", "random-60-20-20-seed-4"),
    ],
)
def test_splits_are_chosen_by_text(split, name):
    assert load_dataset("cora", split=split, split_seed=4).split.name == name


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("coar", {}, UnknownNameError, "Did you mean 'cora'"),
        ("cora:degree=3", {}, UnknownNameError, "Unknown setting 'degree'"),
        ("csbm:homofily=1", {}, UnknownNameError, "Did you mean 'homophily'"),
        ("csbm:degree", {}, SettingsError, "name=value, got 'degree'"),
        ("large:degre=3", {}, UnknownNameError, "Did you mean 'degree'"),
        ("large:num_nodes=1e-3", {}, SettingsError, "num_nodes must be an integer"),
        ("cora", {"split": "half"}, DataError, "Unknown split 'half'; write public"),
        ("cora", {"split": "public-2"}, DataError, "'cora' has no split 'public-2'"),
        ("csbm", {"split": "public"}, DataError, "its own is 'random-10-10-80-seed-0'"),
        ("cora", {"split": "0/50/50"}, DataError, "training set is empty"),
        ("cora", {"split": "60/0/40"}, DataError, "validation set is empty"),
        ("cora", {"features": "rwa"}, UnknownNameError, "Did you mean 'raw'"),
        ("cora", {"direction": "keep"}, UnknownNameError, "Did you mean 'kept'"),
    ],
)
def test_wrong_names_are_answered(name, options, error, message):
    with pytest.raises(error, match=message):
        load_dataset(name, **options)


def test_every_name_is_listed_once():
    names = dataset_names()
    assert len(names) == len(set(names))
    assert names[:4] == ["cora", "citeseer", "pubmed", "csbm"]


def test_graphs_are_written_as_the_field_writes_them():
    assert graph_name("citeseer") == "CiteSeer"
    assert graph_name("csbm:num_nodes=60") == "csbm:num_nodes=60"
    assert graph_name("chameleon-filtered") == "Chameleon, filtered"


def test_every_data_set_has_a_name_for_readers():
    plain = [name for name in dataset_names() if graph_name(name) == name]
    assert plain == ["csbm", "large"]


def test_settings_are_read_from_the_name_of_a_generated_graph():
    settings = generated_settings("csbm:homophily=0.3,seed=2")
    assert (settings.homophily, settings.seed, settings.num_nodes) == (0.3, 2, 2000)
    assert generated_settings("cora") is None


def test_a_fold_is_a_split_like_any_other():
    data = load_dataset("csbm:num_nodes=200", split="fold-2-of-5", split_seed=3)
    assert data.split.name == "fold-2-of-5-seed-3"
    assert len(data.split.test) == 40
    assert is_random_split("fold-2-of-5")
    with pytest.raises(DataError, match="5 folds are numbered 0 to 4, got 5"):
        load_dataset("csbm:num_nodes=200", split="fold-5-of-5")


@pytest.fixture
def registered():
    """The data sets of one's own, which are as before afterwards."""
    before = dict(REGISTERED)
    yield REGISTERED
    REGISTERED.clear()
    REGISTERED.update(before)


def own_data():
    """A ring in which one direction is said, with two classes that the features tell apart."""
    node = torch.arange(40)
    split = Split("public", node[::4], node[1::4], torch.cat([node[2::4], node[3::4]]))
    return NodeData(
        name="ring",
        x=torch.stack([(node < 20).float(), node / 40], dim=1),
        y=(node < 20).long(),
        graph=Graph.from_edge_index(torch.stack([node, (node + 1) % 40])),
        split=split,
        class_names=("back", "front"),
    )


def test_a_data_set_of_ones_own_is_one_entry(registered):
    register_dataset("mine", own_data)
    check_dataset("mine")
    assert dataset_names()[-1] == "mine"
    data = load_dataset("mine")
    assert data.graph.is_symmetric
    assert load_dataset("mine", direction="kept").graph.num_edges == 40
    assert load_dataset("mine", split="public").split.name == "public"
    assert load_dataset("mine", split="50/25/25").split.name == "random-50-25-25-seed-0"
    assert torch.equal(data.x, own_data().x)
    normalised = load_dataset("mine", features="row-normalised").x
    assert torch.allclose(normalised.sum(1)[1:], torch.ones(39))
    model = akgnn.AKGNN(data.num_features, 8, data.num_classes)
    result = akgnn.fit(model, data, akgnn.TrainSettings(epochs=60, learning_rate=0.05))
    assert result.test_accuracy > 80
    with pytest.raises(UnknownNameError, match="Did you mean 'mine'"):
        load_dataset("mime")
    with pytest.raises(UnknownNameError, match="Unknown setting 'a'"):
        load_dataset("mine:a=1")


def test_a_data_set_may_be_registered_again(registered):
    register_dataset("mine", own_data)
    register_dataset("mine", lambda: load_dataset("csbm:num_nodes=60"))
    assert load_dataset("mine").name == "csbm"


@pytest.mark.parametrize("name", ["cora", "csbm", "tables", "", " ", "a:b", "a\n"])
def test_a_name_that_would_mislead_is_refused(registered, name):
    with pytest.raises(SettingsError, match="name"):
        register_dataset(name, own_data)
    assert not registered


@pytest.mark.parametrize(
    "text", ["N-per-class", "N/20/20", "fold-N-of-5", "fold-0-of-N", "public-N"]
)
def test_a_number_of_many_digits_is_no_split(text):
    with pytest.raises(DataError, match="Unknown split"):
        load_dataset("cora", split=text.replace("N", "9" * 5000))


def test_sizes_of_generated_graphs_are_known_by_their_names():
    assert generated_sizes("csbm:num_nodes=100,num_features=3") == (100, 3, 4)
    assert generated_sizes("large:num_nodes=1600") == (1600, 64, 8)
    assert generated_sizes("cora") is None
