"""The contract of every registered model: a new entry is tested by being registered."""

import inspect
import re
from typing import get_args, get_type_hints

import pytest
import torch
import torch.nn.functional as F

import akgnn
from akgnn.errors import SettingsError, UnknownNameError
from akgnn.layers.dropout import Dropout
from akgnn.models.adaptive_network import AKGNNSettings
from akgnn.models.akgnn import AKGNN
from akgnn.models.akgnn_deep import DeepAKGNN
from akgnn.models.akgnn_grand import AKGNNGrand
from akgnn.models.akgnn_hops import HopAKGNN
from akgnn.models.block_network import BlockGAT, BlockGCN, BlockGraphSAGE
from akgnn.models.gcn import GCN, GCNSettings
from akgnn.models.registry import MODELS, ModelEntry, build_model, find_model, register_model
from akgnn.ops.dropout import Noise
from oracles import random_graph

EVERY = pytest.mark.parametrize("name", MODELS)
# With the settings that choose a class.
CLASSES = [(name, find_model(name).settings()) for name in MODELS]
CLASSES.append(("akgnn", AKGNNSettings(order="propagate-first")))
CLASSES.append(("dropedge", find_model("dropedge").settings(form="public-code", self_map=True)))
BLOCKS = {"gcn": BlockGCN, "graphsage": BlockGraphSAGE, "gat": BlockGAT}
CLASSES += [(name, find_model(name).settings(form="blocks", norm="layer")) for name in BLOCKS]
DATA = akgnn.load_dataset("csbm:num_nodes=100,homophily=0.9,num_features=20")


def build(name, seed=1, in_channels=6, out_channels=3, settings=None):
    settings = settings or find_model(name).settings()
    return build_model(name, settings, in_channels, out_channels, seed=seed)


@pytest.mark.parametrize(("name", "settings"), CLASSES)
def test_every_model_gives_a_score_for_each_node_and_class(name, settings):
    graph = random_graph(0)
    model = build(name, settings=settings)
    # A published form has no use for the settings of blocks.
    assert model.settings.to_dict().items() <= settings.to_dict().items()
    x = torch.rand(graph.num_nodes, 6)
    out = model(x, graph, Noise(0))
    assert out.shape == (graph.num_nodes, 3)
    assert out.isfinite().all()


@EVERY
def test_the_seed_decides_the_initial_weights(name):
    def weights(seed):
        model = build(name, seed)
        return torch.cat([parameter.detach().view(-1) for parameter in model.parameters()])

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


# PyG's first layers had their linear maps taken out.
WITH_FIRST_LAYER = [
    name
    for name in MODELS
    if hasattr(build(name), "first_layer") and name not in ("gat", "graphsage")
]


@pytest.mark.parametrize("name", WITH_FIRST_LAYER)
def test_the_first_layer_is_the_one_that_takes_the_features(name):
    matrices = [
        each for each in build(name, in_channels=17).first_layer.parameters() if each.dim() == 2
    ]
    assert matrices
    assert all(17 in matrix.shape for matrix in matrices)


def options_of(model):
    """Names and defaults in the signature of a model, but for sizes and generator."""
    parameters = inspect.signature(model).parameters
    assert all(each.kind is not each.VAR_KEYWORD for each in parameters.values())
    sizes = ("in_channels", "hidden_channels", "out_channels", "generator")
    assert [name for name in parameters if name in sizes] == [s for s in sizes if s in parameters]
    options = {name: each for name, each in parameters.items() if name not in sizes}
    assert all(each.kind is each.KEYWORD_ONLY for each in options.values())
    return {name: each.default for name, each in options.items()}


def forms_of(name):
    """Settings of a model, one for each class that they choose among."""
    settings = find_model(name).settings
    hints = get_type_hints(settings)
    choosers = [each for each in ("order", "form") if each in settings.choosers()]
    return [
        settings(**{chooser: value}) for chooser in choosers for value in get_args(hints[chooser])
    ] or [settings()]


@EVERY
def test_a_model_takes_the_settings_that_have_an_effect_with_their_defaults(name):
    entry = find_model(name)
    for settings in forms_of(name):
        expected = {k: v for k, v in settings.in_effect().items() if k != "hidden_channels"}
        chooser = {"order", "form"} & settings.choosers()
        # These two have a rule of their own, which says what else they need.
        unused = {"recompute", "channels_at_once"} if settings != entry.settings() else set()
        taken = options_of(entry.model_for(settings))
        assert taken.keys() ^ expected.keys() <= chooser | unused
        assert taken.items() <= expected.items()


@pytest.mark.parametrize(("name", "settings"), CLASSES)
def test_help_tells_what_every_argument_means(name, settings):
    model = find_model(name).model_for(settings)
    told = re.findall(r"^    (\w+): ", model.__doc__.partition("Args:\n")[2], flags=re.M)
    assert told[: len(inspect.signature(model).parameters)] == [
        *inspect.signature(model).parameters
    ]


@pytest.mark.parametrize(
    ("order", "kind"),
    [
        ("transform-first", AKGNN),
        ("propagate-first", AKGNNGrand),
        ("hops", HopAKGNN),
        ("blocks", DeepAKGNN),
    ],
)
def test_the_order_chooses_the_class(order, kind):
    model = build("akgnn", settings=AKGNNSettings(order=order))
    assert type(model) is kind
    assert model.settings.order == order


def train(model, edges, seed, steps=15):
    """The loop that everyone writes."""
    torch.manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    nodes, losses = DATA.split.train, []
    for _ in range(steps):
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(DATA.x, edges)[nodes], DATA.y[nodes])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("edges", [DATA.graph, DATA.graph.edge_index], ids=["graph", "edge_index"])
@pytest.mark.parametrize(("name", "settings"), CLASSES)
def test_the_plain_loop_trains_every_model(name, settings, edges):
    def fresh():
        return build(name, 0, DATA.num_features, DATA.num_classes, settings)

    model = fresh()
    losses = train(model, edges, seed=5)
    assert sum(losses[-3:]) < sum(losses[:3])
    assert train(fresh(), edges, seed=5) == losses
    if any(isinstance(module, Dropout) for module in model.modules()):
        assert train(fresh(), edges, seed=6) != losses
    model.eval()
    before = torch.get_rng_state()
    scores = model(DATA.x, edges)
    assert torch.equal(scores, model(DATA.x, edges))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(("name", "settings"), CLASSES)
def test_edge_index_gives_what_its_graph_gives(name, settings):
    graph, x = random_graph(2), torch.rand(12, 6)
    model = build(name, settings=settings)
    for noise in (Noise(3), None):
        model.train(noise is not None)
        assert torch.equal(model(x, graph.edge_index, noise), model(x, graph, noise))


@pytest.mark.parametrize(("name", "settings"), CLASSES)
def test_with_noise_torchs_generator_does_not_move(name, settings):
    graph, model = random_graph(0), build(name, settings=settings)
    before = torch.get_rng_state()
    model(torch.rand(graph.num_nodes, 6, generator=torch.Generator()), graph, Noise(0))
    assert torch.equal(torch.get_rng_state(), before)


def test_an_unknown_model_is_answered_with_a_guess():
    with pytest.raises(UnknownNameError, match="Did you mean 'akgnn'"):
        find_model("agknn")


def test_a_registered_model_is_built_by_its_name(monkeypatch):
    monkeypatch.setattr("akgnn.models.registry.MODELS", dict(MODELS))
    register_model("mine", ModelEntry(GCN, GCNSettings, "graph convolution", "nowhere"))
    assert type(build("mine")) is GCN


@pytest.mark.parametrize(
    ("name", "entry", "message"),
    [
        ("gcn", MODELS["gcn"], "There is a model 'gcn' already"),
        ("mine", GCN, "registered by its ModelEntry"),
    ],
)
def test_a_taken_name_and_what_is_no_entry_are_refused(name, entry, message):
    with pytest.raises(SettingsError, match=message):
        register_model(name, entry)
    assert "mine" not in MODELS


@pytest.mark.parametrize(
    ("name", "settings"),
    [("akgnn", {"order": "blocks"}), ("akgnn", {"order": "hops"}), ("gat", {"form": "blocks"})],
)
def test_no_setting_is_dropped_on_the_way_to_the_model(name, settings):
    entry = find_model(name)
    lost = {"akgnn": {"transform_dropout": 0.9}, "gat": {"output_heads": 4}}[name]
    with pytest.raises(SettingsError, match=r"has no effect here\..*Choose from"):
        build_model(name, entry.settings(**settings, **lost), 3, 2)


def test_a_class_that_lacks_a_setting_is_told_when_it_is_built():
    entry = ModelEntry(GCN, GCNSettings, "test", "", choose=lambda settings: WithoutDropout)
    MODELS["test-lacks"] = entry
    try:
        with pytest.raises(SettingsError, match=r"dropout=0\.1 is not a setting of WithoutDropout"):
            build_model("test-lacks", GCNSettings(dropout=0.1), 3, 2)
    finally:
        del MODELS["test-lacks"]


class WithoutDropout(GCN):
    """A GCN that lacks a setting."""

    def __init__(
        self, in_channels, hidden_channels, out_channels, *, num_layers, bias, generator
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, generator=generator)
