import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import peak_of_training
from akgnn.data.catalogue import load_dataset
from akgnn.data.large import LargeGraphSettings, large_graph
from akgnn.models.registry import build_model
from akgnn.training.memory import Sizes, data_bytes, training_bytes
from akgnn.training.presets import load_preset

# What the estimates may be of the measured peaks.
LOWEST, HIGHEST = 0.9, 1.6

EVEN = "large:num_nodes=40000,degree=4,num_classes=4"
DENSE = "large:num_nodes=12000,degree=90,num_classes=4"
CASES = {
    "akgnn": {},
    "akgnn, dense": {"dataset": DENSE},
    "akgnn, sparse features": {"dataset": "pubmed"},
    "akgnn, 10 layers of 32": {"changes": {"num_layers": 10, "hidden_channels": 32}},
    "akgnn, recomputed": {"changes": {"recompute": True}},
    "akgnn, 10 layers recomputed": {"changes": {"recompute": True, "num_layers": 10}},
    "akgnn, many features": {"dataset": f"{EVEN},num_features=256"},
    "akgnn, no layer dropout": {"changes": {"layer_dropout": 0.0}},
    "akgnn, λ fixed": {"changes": {"learn_lambda": False}},
    "akgnn, concat": {"changes": {"readout": "concat"}},
    "akgnn, max": {"changes": {"readout": "max"}},
    "akgnn, groups": {"changes": {"groups": 4}},
    "akgnn, own weights": {"changes": {"share_weights": False}},
    "akgnn, deep classifier": {"changes": {"classifier_layers": 3}},
    "akgnn, any graph": {"preset": "any-graph"},
    "akgnn, consistency": {"preset": "akgnn-consistency", "changes": {"passes": 2}},
    "akgnn, consistency, norms": {
        "preset": "akgnn-consistency",
        "changes": {"passes": 2, "batch_norm": True},
    },
    "gcn": {"model": "gcn"},
    "gcn, dense": {"model": "gcn", "dataset": DENSE},
    "gcn, 4 layers": {"model": "gcn", "changes": {"num_layers": 4, "hidden_channels": 64}},
    "appnp": {"model": "appnp"},
    "appnp, dense": {"model": "appnp", "dataset": DENSE},
    "appnp, all edges": {"model": "appnp", "changes": {"edge_dropout": 0.0}},
    "sgc": {"model": "sgc", "changes": {"num_layers": 8}},
    "sgc, dense": {"model": "sgc", "dataset": DENSE},
    "ssgc": {"model": "ssgc"},
    "mlp": {"model": "mlp"},
}


@pytest.fixture(scope="module")
def peaks():
    """The measured peaks of all cases."""
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("only Linux counts the peak anew")
    cases = [{"dataset": EVEN, **case} for case in CASES.values()]
    # Every array by itself, so that what is freed is given back and not kept for later.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, peak_of_training.__file__, json.dumps(cases)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return dict(zip(CASES, json.loads(done.stdout), strict=True))


@pytest.fixture(scope="module")
def sizes():
    """The sizes of a data set, by its name."""
    known = {}

    def of(dataset):
        if dataset not in known:
            known[dataset] = Sizes.of(load_dataset(dataset))
        return known[dataset]

    return of


@pytest.mark.parametrize("name", CASES)
def test_the_estimate_is_near_the_measured_peak(name, peaks, sizes):
    case = {"dataset": EVEN, **CASES[name]}
    preset = peak_of_training.plan_of(case).preset
    ratio = training_bytes(preset, sizes(case["dataset"])) / peaks[name]
    assert LOWEST <= ratio <= HIGHEST


def test_the_sizes_of_a_large_graph_are_known_before_it_is_built():
    settings = LargeGraphSettings(num_nodes=4000, degree=8.0, num_features=5)
    data = large_graph(settings)
    expected, found = Sizes.expected(settings), Sizes.of(data)
    assert expected.edges == pytest.approx(found.edges, rel=0.02)
    assert (expected.nodes, expected.features, expected.classes) == (4000, 5, 8)
    pattern = data.graph.adjacency.pattern
    parts = (data.x, data.y, pattern.rowptr, pattern.col, *vars(data.split).values())
    held = sum(part.nbytes for part in parts if hasattr(part, "nbytes"))
    assert data_bytes(expected) == pytest.approx(held, rel=0.02)


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("akgnn", {}),
        ("akgnn", {"readout": "concat", "classifier_layers": 3}),
        ("akgnn", {"share_weights": False}),
        ("akgnn", {"order": "propagate-first", "readout": "concat"}),
        ("appnp", {}),
        ("gcn", {"num_layers": 3}),
        ("mlp", {"num_layers": 1}),
        ("ssgc", {}),
    ],
)
def test_weights_are_counted(model, changes):
    """With no node at all nothing but the weights is left, each with its copies."""
    preset = load_preset(model, "paper", "cora").updated(changes)
    matrices = [
        weight.numel()
        for weight in build_model(model, preset.model, 700, 5).parameters()
        if weight.dim() == 2
    ]
    assert training_bytes(preset, Sizes(0, 0, 700, 5)) == 6 * 4 * sum(matrices)


def test_a_model_without_a_rule_has_no_estimate():
    sizes = Sizes(1000, 5000, 10, 3)
    assert training_bytes(load_preset("gat", "paper", "cora"), sizes) is None
    assert training_bytes(load_preset("dropedge", "paper", "cora"), sizes) is None
    assert training_bytes(load_preset("gcn", "paper", "cora"), sizes) is not None
