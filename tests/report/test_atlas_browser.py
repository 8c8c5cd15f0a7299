"""The atlas in a browser: the page runs the model, and its numbers are those of Python."""

import copy
import csv
import shutil
from types import MappingProxyType

import numpy as np
import pytest
import torch

import akgnn
from akgnn.errors import DataError
from akgnn.explain.explanation import explain_node
from akgnn.files import json_text
from akgnn.layers.ak_conv import AKConv
from akgnn.layers.kernels import KERNELS, Kernel, register_kernel
from akgnn.report import atlas as atlas_module
from akgnn.report import html
from akgnn.report.atlas import atlas_of
from akgnn.report.chain import chain_of
from akgnn.report.packing import deflated
from akgnn.report.run_page import run_page
from akgnn.runs.load import load_run
from akgnn.training.calibration import Calibrated
from akgnn.training.fit import predict_logits
from akgnn.training.metrics import interval_words
from browsing import until

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SCRIPTS = ("theme.js", "atlas-model.js", "atlas-map.js", "atlas.js")
HOSTILE = "</script><img src=x onerror=alert(1)>"
CLOSE = 1e-4
# What rounding the signal leaves of probabilities, twice over.
ROUNDED = 4e-5


@pytest.fixture(scope="module")
def browser():
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"none of the browsers {', '.join(BROWSERS)} is installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, tmp_path, monkeypatch):
    """Opens the atlas of a run with nothing else on the page; afterwards all must have gone well.

    Its nodes are put anywhere, which changes no class.
    """
    tabs, trouble = [], []

    def open_atlas(run, data):
        model = run.model
        anywhere = np.random.default_rng(0).random((data.graph.num_nodes, 2)).astype(np.float32)
        monkeypatch.setattr(atlas_module, "layout_of", lambda *_: anywhere)
        atlas = atlas_of(run, model, data, predict_logits(model, data), (), html.MOST_BYTES)
        section = html.environment().get_template("atlas.html").module.atlas_section(atlas)
        drawn = json_text({"atlas": atlas.drawn}, compact=True).encode()
        packed = "".join(
            f'<script type="text/plain" id="packed-{name}">{deflated(content)}</script>'
            for name, content in (("drawn", drawn), ("atlas", atlas.packed))
        )
        scripts = "".join(f"<script>{html.asset(name)}</script>" for name in SCRIPTS)
        style = html.asset("page.css") + html.asset("atlas.css")
        file = tmp_path / f"atlas-{len(tabs)}.html"
        file.write_text(
            f'<!doctype html><meta charset="utf-8"><style>{style}</style><button id="theme">'
            f"</button>{section}{packed}{scripts}",
            encoding="utf-8",
        )
        tabs.append(browser.new_page())
        listen(tabs[-1], trouble)
        tabs[-1].goto(file.as_uri())
        tabs[-1].evaluate("akgnn.atlas.then((atlas) => { window.atlas = atlas; })")
        return tabs[-1]

    yield open_atlas
    for tab in tabs:
        tab.close()
    assert trouble == []


def listen(tab, trouble):
    tab.on("console", lambda message: trouble.append(message.text))
    tab.on("pageerror", lambda error: trouble.append(str(error)))
    tab.on("dialog", lambda dialog: (trouble.append("a dialog"), dialog.dismiss()))


def trained(dataset, tmp_path, *, changes=MappingProxyType({}), **options):
    """A run of few epochs, from its folder as the command reads it, and its data."""
    settings = {"epochs": 3, **changes}
    try:
        akgnn.train(dataset, out=tmp_path / "run", settings=settings, device="cpu", **options)
    except DataError as error:
        pytest.skip(str(error))
    run = load_run(tmp_path / "run")
    return run, run.data()


def layers_of(model):
    return [module for module in model.modules() if isinstance(module, AKConv)]


def probabilities_at(run, data, scalars):
    """What the model gives with its scalars put elsewhere."""
    model = copy.deepcopy(run.model)
    with torch.no_grad():
        for layer, row in zip(layers_of(model), scalars, strict=True):
            phi = torch.tensor([layer.kernel.phi_of(scalar) for scalar in row])
            layer.phi.copy_(phi.view(layer.phi.shape))
    return run.result.calibration.scaled(predict_logits(model, data)).softmax(1)


def some_scalars(run, seed):
    """Settings of all layers: every scalar at 2, then three at random."""
    layers = layers_of(run.model)
    shapes = [layer.phi.numel() for layer in layers]
    low = 1.0 if layers[0].lambda_max is not None else -3.0
    random = np.random.default_rng(seed)
    return [
        [[2.0] * size for size in shapes],
        *([random.uniform(low, 6, size).tolist() for size in shapes] for _ in range(3)),
    ]


def in_page(tab, scalars=None):
    what = "scalars" if scalars else "atlas.learnedScalars"
    return torch.tensor(tab.evaluate(f"(scalars) => atlas.probabilities({what})", scalars))


def assert_same(found, expected):
    assert torch.equal(found.argmax(1), expected.argmax(1))
    assert float((found - expected).abs().max()) < ROUNDED


def assert_page_is_the_model(tab, run, data):
    assert_same(in_page(tab), run.predict(device="cpu").probability)
    for scalars in some_scalars(run, 0):
        assert_same(in_page(tab, scalars), probabilities_at(run, data, scalars))


def assert_effects_are_those_of_explain(tab, run, data, nodes):
    model = Calibrated(run.model, run.result.calibration).eval()
    for node in nodes:
        why = explain_node(model, data, node)
        found = tab.evaluate("(node) => atlas.effects(node, atlas.learnedScalars)", node)
        effects = {each["node"]: each for each in found["effects"]}
        assert found["logOdds"] == pytest.approx(why.log_odds, abs=CLOSE)
        assert max(found["alone"]) == pytest.approx(why.alone.probability, abs=CLOSE)
        assert len(effects) == why.num_neighbours
        for neighbour in why.neighbours:
            each = effects[neighbour.facts.node]
            assert each["effect"] == pytest.approx(neighbour.effect, abs=CLOSE)
            assert data.class_names[each["without"]] == neighbour.without


@pytest.mark.parametrize("dataset", ["cora", "citeseer", "pubmed"])
def test_page_runs_the_model_of_a_bundled_graph_exactly(opened, tmp_path, dataset):
    run, data = trained(dataset, tmp_path)
    tab = opened(run, data)
    assert_page_is_the_model(tab, run, data)
    assert_effects_are_those_of_explain(tab, run, data, [5])


def test_page_runs_the_signed_model_of_texas_exactly(opened, tmp_path):
    run, data = trained("texas", tmp_path, preset="any-graph")
    tab = opened(run, data)
    assert_page_is_the_model(tab, run, data)
    hub = int(data.graph.degree.argmax())
    assert_effects_are_those_of_explain(tab, run, data, [0, hub])


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel": "smooth", "readout": "mean", "normalisation": "row", "classifier_layers": 2},
        {"kernel": "signed", "readout": "last", "activation": "leaky_relu"},
        {"kernel": "signed", "groups": 4, "readout": "max", "num_layers": 2},
        {"readout": "concat", "normalisation": "row", "num_layers": 1},
        {"order": "propagate-first", "batch_norm": True, "readout": "mean"},
        {"order": "propagate-first", "kernel": "signed", "classifier_layers": 2},
    ],
    ids=lambda changes: "-".join(map(str, changes.values())),
)
def test_page_runs_every_form_of_the_chain_exactly(opened, tmp_path, changes):
    changes = {"num_layers": 3, "hidden_channels": 8, **changes}
    # A mean degree of 2 leaves some nodes without edges.
    run, data = trained("csbm:num_nodes=150,degree=2", tmp_path, changes=changes)
    assert bool((data.graph.degree == 0).any())
    tab = opened(run, data)
    assert_page_is_the_model(tab, run, data)
    nodes = [int(data.graph.degree.argmax()), int(data.graph.degree.argmin()), 3]
    assert_effects_are_those_of_explain(tab, run, data, nodes)


@pytest.mark.parametrize(
    "changes",
    [{"classifier_layers": 2}, {"groups": 2, "activation": "leaky_relu", "kernel": "signed"}],
    ids=lambda changes: "-".join(map(str, changes.values())),
)
def test_page_makes_the_signal_of_few_features_exactly(opened, tmp_path, changes):
    changes = {"num_layers": 2, "hidden_channels": 16, **changes}
    run, data = trained("csbm:num_nodes=150,num_features=6", tmp_path, changes=changes)
    assert chain_of(run.model, data).source is not None
    tab = opened(run, data)
    assert_page_is_the_model(tab, run, data)
    assert_effects_are_those_of_explain(tab, run, data, [0, 1])


class RelativeKernel(Kernel):
    """Neighbours together weigh φ², the node itself 1."""

    symbol, initial, search_space = "κ", 1.0, (0.1, 3.0)

    def phi_of(self, scalar):
        return scalar

    def scalar(self, phi):
        return phi

    def gcn(self, mean_degree):
        return mean_degree**0.5

    def scalar_of_ratio(self, ratio, mean_degree):
        return ratio**0.5

    def weights(self, phi, mean_degree):
        return 1.0, phi * phi / mean_degree


def test_kernel_of_ones_own_is_run_by_its_share_of_neighbours(opened, tmp_path, monkeypatch):
    monkeypatch.setattr("akgnn.layers.kernels.KERNELS", dict(KERNELS))
    register_kernel("relative", RelativeKernel())
    changes = {"kernel": "relative", "hidden_channels": 8, "num_layers": 2}
    run, data = trained("csbm:num_nodes=80", tmp_path, changes=changes)
    tab = opened(run, data)
    assert_same(in_page(tab), run.predict(device="cpu").probability)
    assert_effects_are_those_of_explain(tab, run, data, [0, 1])


def write_csv(file, columns):
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def own_tables(folder, around="{}"):
    """A directed, weighted graph as tables; ids and classes are written into `around`."""
    data = akgnn.load_dataset("csbm:num_nodes=60,num_features=6,degree=4")
    random = np.random.default_rng(0)
    ids = [around.format(f"n{node}") for node in range(60)]
    source, target = data.graph.edge_index.numpy()
    kept = random.random(len(source)) < 0.6
    write_csv(
        folder / "nodes.csv",
        {
            "id": ids,
            "kind": [around.format(f"class {label}") for label in data.y.tolist()],
            **{f"f{k}": column for k, column in enumerate(data.x.T.tolist())},
        },
    )
    write_csv(
        folder / "edges.csv",
        {
            "source": [ids[k] for k in source[kept]],
            "target": [ids[k] for k in target[kept]],
            "weight": random.uniform(0.2, 3, int(kept.sum())).tolist(),
        },
    )
    return {
        "nodes": folder / "nodes.csv",
        "edges": folder / "edges.csv",
        "label": "kind",
        "weight": "weight",
        "split": "50/25/25",
    }


def test_page_runs_the_model_of_own_weighted_tables_exactly(opened, tmp_path):
    changes = {"hidden_channels": 8, "num_layers": 3}
    run, data = trained(None, tmp_path, preset="paper", changes=changes, **own_tables(tmp_path))
    assert data.graph.edge_weight is not None
    tab = opened(run, data)
    assert_page_is_the_model(tab, run, data)
    assert_effects_are_those_of_explain(tab, run, data, [0, 1])


def test_page_runs_the_model_of_a_directed_graph_exactly(opened, tmp_path):
    changes = {"normalisation": "row", "hidden_channels": 8, "num_layers": 3}
    tables = {**own_tables(tmp_path), "direction": "kept"}
    run, data = trained(None, tmp_path, preset="any-graph", changes=changes, **tables)
    assert not data.graph.is_symmetric
    tab = opened(run, data)
    assert_page_is_the_model(tab, run, data)
    assert_effects_are_those_of_explain(tab, run, data, range(6))


def test_other_models_have_a_map_with_their_classes_and_no_sliders(opened, tmp_path):
    run, data = trained("csbm:num_nodes=80", tmp_path, model="gcn")
    tab = opened(run, data)
    expected = run.predict(device="cpu").probability
    assert tab.evaluate("Array.from(atlas.predicted)") == expected.argmax(1).tolist()
    found = tab.evaluate("Array.from(atlas.predicted, (_, node) => atlas.answers(node))")
    top = expected.topk(2, dim=1)
    shown = torch.tensor(found, dtype=torch.float64)
    assert torch.equal(shown[..., 0].long(), top.indices)
    assert float((shown[..., 1] - top.values).abs().max()) < CLOSE
    assert tab.locator("#atlas-sliders input").count() == 0
    assert "There are no sliders here" in tab.locator("#atlas").inner_text()


@pytest.fixture(scope="module")
def hostile(browser, tmp_path_factory):
    """The whole page of a run whose ids and class names would run if they were HTML."""
    folder = tmp_path_factory.mktemp("hostile")
    options = own_tables(folder, around=f"{HOSTILE}{{}}")
    settings = {"epochs": 3, "num_layers": 2}
    run = akgnn.train(
        **options, preset="paper", settings=settings, out=folder / "run", device="cpu"
    )
    html.write(run_page(folder / "run"), folder / "page.html")
    context = browser.new_context(viewport={"width": 390, "height": 844}, offline=True)
    tab, trouble = context.new_page(), []
    listen(tab, trouble)
    tab.goto((folder / "page.html").as_uri())
    tab.evaluate("akgnn.atlas.then((atlas) => { window.atlas = atlas; })")
    yield tab, run
    context.close()
    assert trouble == []


def test_hostile_ids_and_classes_are_text(hostile):
    tab, _ = hostile
    tab.locator("#atlas-search").fill("n17")
    tab.locator("#atlas-search").press("Enter")
    tab.wait_for_selector("#atlas-node td")
    title = tab.locator("#atlas-node h3").inner_text()
    assert title.startswith(f"Node {HOSTILE}n17: {HOSTILE}class ")
    assert tab.locator("#atlas-class option").nth(1).inner_text() == f"{HOSTILE}class 0"
    assert tab.locator("#atlas-key li").first.inner_text() == f"{HOSTILE}class 0"
    assert HOSTILE in tab.locator("#atlas-node button").first.inner_text()
    assert tab.locator("#atlas img").count() == 0


def test_sliders_move_classes_validation_accuracy_and_response(hostile):
    tab, run = hostile
    tab.get_by_role("button", name="As learned").click()
    figures = tab.locator("#atlas-figures dd")
    assert figures.first.inner_text() == f"{run.result.val_accuracy:.1f} %"
    tab.get_by_role("button", name="Own signal only").click()
    until(tab, "atlas.scalars[0][0] === Infinity")
    number = tab.locator("#atlas-sliders input[type=number]").first
    until(tab, "document.querySelector('#atlas-sliders [type=number]').placeholder === '∞'")
    number.fill("3.5")
    number.press("Enter")
    until(tab, "atlas.scalars[0][0] === 3.5")
    tab.locator("#atlas-sliders input[type=range]").nth(1).fill("1")
    until(tab, "atlas.scalars[1][0] === 1")
    changed = tab.evaluate(
        "(() => { const now = Array.from(atlas.network.run(atlas.scalars).predicted), "
        "learned = Array.from(atlas.network.run(atlas.learnedScalars).predicted); "
        "return now.filter((which, node) => which !== learned[node]).length; })()"
    )
    until(tab, f"document.querySelectorAll('#atlas-figures dd')[1].innerText === '{changed}'")
    until(tab, "document.getElementById('atlas-says').textContent.includes('change class')")
    until(tab, "document.getElementById('scalar-1').value === '3.5'")


def test_test_labels_are_shown_in_the_folded_box_alone(hostile):
    tab, run = hostile
    tab.get_by_role("button", name="As learned").click()
    node = tab.evaluate(
        "(() => { for (let i = 0; ; i += 1) if (atlas.role[i] === 3) return i; })()"
    )
    tab.evaluate("(node) => atlas.choose(node)", node)
    tab.wait_for_selector("#atlas-node h3")
    until(tab, "document.getElementById('atlas-node').textContent.includes('Test nodes is open')")
    assert not tab.locator("#atlas-test-figures").is_visible()
    tab.locator("#atlas-test summary").click()
    until(tab, "document.getElementById('atlas-node').textContent.includes('Its label is')")
    assert "has no test any more" in tab.locator("#atlas-test").inner_text()
    interval = interval_words(run.result.test_accuracy, run.result.num_test)
    until(tab, f"document.getElementById('atlas-test-interval').textContent === '{interval}'")
    tab.locator("#atlas-test summary").click()


def test_arrow_keys_go_from_neighbour_to_neighbour(hostile):
    tab, _ = hostile
    near = tab.evaluate("atlas.graph.neighbours(17)")
    tab.locator("#atlas-canvas").focus()
    reached = set()
    for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
        tab.evaluate("atlas.choose(17)")
        tab.keyboard.press(key)
        reached.add(tab.evaluate("atlas.chosen"))
    assert reached - {17}
    assert reached <= {17, *near}


def test_map_and_sliders_are_on_one_screen_of_a_phone(hostile):
    tab, _ = hostile
    box = tab.evaluate(
        "(() => { const [a, b] = ['atlas-canvas', 'atlas-buttons'].map((id) => "
        "document.getElementById(id).getBoundingClientRect()); return b.bottom - a.top; })()"
    )
    assert box <= 844
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
