import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import peak_of_training
from akgnn.data.catalogue import load_dataset
from akgnn.data.generated import LargeGraphSettings, large_graph
from akgnn.errors import DivergedError, MissingExtraError, OutOfMemoryError
from akgnn.machine.device import size_text
from akgnn.models.registry import MODELS
from akgnn.runs import memory
from akgnn.runs.memory import (
    Sizes,
    check_memory,
    memory_errors_explained,
    remedies,
    training_bytes,
)
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.presets import list_presets

# What the estimates may be of the measured peaks.
LOWEST, HIGHEST = 0.7, 2.0

CPU = torch.device("cpu")
EVEN = "large:num_nodes=40000,degree=4,num_classes=4"
DENSE = "large:num_nodes=12000,degree=90,num_classes=4"
CASES = {
    "akgnn": {},
    "akgnn, dense": {"dataset": DENSE},
    "akgnn, sparse features": {"dataset": "pubmed"},
    "akgnn, 10 layers of 32": {"changes": {"num_layers": 10, "hidden_channels": 32}},
    "akgnn, recomputed": {"changes": {"recompute": True}},
    "akgnn, concat": {"changes": {"readout": "concat"}},
    "akgnn, groups": {"changes": {"groups": 4}},
    "akgnn, own weights": {"changes": {"share_weights": False}},
    "akgnn, any graph": {"preset": "any-graph"},
    "akgnn, consistency": {"preset": "akgnn-consistency", "changes": {"passes": 2}},
    "akgnn, consistency, norms": {
        "preset": "akgnn-consistency",
        "changes": {"passes": 2, "batch_norm": True},
    },
    "gcn": {"model": "gcn"},
    "gcn, dense": {"model": "gcn", "dataset": DENSE},
    "appnp": {"model": "appnp"},
    "sgc": {"model": "sgc", "changes": {"num_layers": 8}},
    "ssgc": {"model": "ssgc"},
    "mlp": {"model": "mlp"},
    "gat": {"model": "gat"},
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


def test_the_estimates_are_near_the_measured_peaks(peaks, sizes):
    # In one test: workers that share a file of tests would each measure all peaks.
    ratios = {}
    for name, own in CASES.items():
        case = {"dataset": EVEN, **own}
        needed = training_bytes(peak_of_training.plan_of(case), sizes(case["dataset"]), CPU)
        ratios[name] = needed / peaks[name]
    wrong = {name: ratio for name, ratio in ratios.items() if not LOWEST <= ratio <= HIGHEST}
    assert not wrong


def test_the_sizes_of_a_large_graph_are_known_before_it_is_built():
    settings = LargeGraphSettings(num_nodes=4000, degree=8.0, num_features=5)
    data = large_graph(settings)
    expected, found = Sizes.expected(settings), Sizes.of(data)
    assert expected.edges == pytest.approx(found.edges, rel=0.02)
    assert (expected.nodes, expected.features, expected.classes) == (4000, 5, 8)
    pattern = data.graph.adjacency.pattern
    parts = (data.x, data.y, pattern.rowptr, pattern.col, *vars(data.split).values())
    held = sum(part.nbytes for part in parts if hasattr(part, "nbytes"))
    assert expected.data_bytes == pytest.approx(held, rel=0.02)


def plan_of(model="akgnn", **changes):
    return RunPlan.make(RunSettings(dataset="cora", model=model), changes)


SIZES = Sizes(1_000_000, 20_000_000, 64, 8)
PLAN = plan_of()
NEEDED = training_bytes(PLAN, SIZES, CPU)


def test_the_estimate_is_the_same_every_time():
    torch.manual_seed(1)
    assert training_bytes(PLAN, SIZES, CPU) == NEEDED


def test_what_needs_more_is_estimated_higher():
    wider = plan_of(hidden_channels=128)
    assert training_bytes(wider, SIZES, CPU) > 1.5 * NEEDED
    twice = Sizes(2_000_000, 40_000_000, 64, 8)
    assert training_bytes(PLAN, twice, CPU) == pytest.approx(2 * NEEDED, rel=0.01)
    denser = Sizes(1_000_000, 80_000_000, 64, 8)
    assert training_bytes(PLAN, denser, CPU) > NEEDED


def ensemble_of(members, **changes):
    return RunPlan.make(RunSettings(dataset="cora", ensemble=members), changes)


def test_every_member_of_an_ensemble_has_its_own_weights(monkeypatch):
    many = Sizes(1000, 4000, 5000, 8)
    one, three, five = (training_bytes(ensemble_of(n), many, CPU) for n in (1, 3, 5))
    # Of 5000 features 64 wide, five copies of 4 bytes; the steps take no more.
    assert three - one == five - three == pytest.approx(2 * 5 * 4 * 5000 * 64, rel=0.01)
    monkeypatch.setattr(memory, "_peak", lambda *_: 1 / 0)
    wide = ensemble_of(10, hidden_channels=10**6)
    assert training_bytes(wide, SIZES, CPU) > 10 * 4 * 5 * 64 * 10**6


def test_fewer_members_are_a_remedy():
    wide = Sizes(1000, 4000, 5000, 8)
    plan = ensemble_of(40)
    most = training_bytes(ensemble_of(11), wide, CPU)
    assert str(remedies(plan, wide, CPU, most)[0]).startswith("`ensemble=10` (")


def test_a_model_too_wide_to_be_tried_out_is_told_by_its_weights(monkeypatch):
    monkeypatch.setattr(memory, "_peak", lambda *_: 1 / 0)
    wide = plan_of(hidden_channels=10**6)
    # 64 and 10⁶ wide, with Adam's two means and a few copies.
    assert training_bytes(wide, SIZES, CPU) > 4 * 5 * 64 * 10**6


def test_no_estimate_where_pairs_of_nodes_count_or_a_package_is_missing(monkeypatch):
    assert training_bytes(plan_of("gaugo"), SIZES, CPU) is None

    def missing(*_, **__):
        raise MissingExtraError("GAT", "pyg")

    monkeypatch.setattr(memory, "build_model", missing)
    assert training_bytes(plan_of("gat"), SIZES, CPU) is None


@pytest.fixture
def free(monkeypatch):
    """Sets how much memory there is."""
    return lambda number: monkeypatch.setattr(memory, "free_bytes", lambda device: number)


def test_what_fits_passes(free):
    free(NEEDED)
    check_memory(PLAN, SIZES, CPU)
    free(NEEDED + SIZES.data_bytes)
    check_memory(PLAN, SIZES, CPU, is_loaded=False)


def test_what_does_not_fit_is_refused_with_both_numbers_and_the_way_out(free):
    free(NEEDED * 2 // 3)
    with pytest.raises(OutOfMemoryError) as caught:
        check_memory(PLAN, SIZES, CPU)
    message = str(caught.value)
    assert f"needs about {size_text(NEEDED)} beside the data" in message
    assert f"cpu has {size_text(NEEDED * 2 // 3)} free" in message
    assert "`hidden_channels=32` (" in message
    assert "or `num_layers=2` (" in message
    assert "`force=True`" in message


def test_data_still_to_be_loaded_need_room_too(free):
    free(NEEDED)
    with pytest.raises(OutOfMemoryError, match="with the data"):
        check_memory(PLAN, SIZES, CPU, is_loaded=False)


@pytest.mark.parametrize("model", ["akgnn", "gaugo"])
def test_what_is_not_known_is_not_refused(model, free):
    free(None if model == "akgnn" else 1)
    check_memory(plan_of(model), SIZES, CPU)


def test_a_remedy_is_the_mildest_that_fits():
    for most in (NEEDED - 1, NEEDED // 2, NEEDED // 3):
        found = remedies(PLAN, SIZES, CPU, most)
        assert found
        for remedy in found:
            less = plan_of(**{remedy.setting: remedy.value})
            assert remedy.needed == training_bytes(less, SIZES, CPU) <= most
            milder = {
                "hidden_channels": 2 * remedy.value,
                "num_layers": remedy.value + 1,
                "recompute": False,
            }[remedy.setting]
            more = plan_of(**{remedy.setting: milder})
            assert training_bytes(more, SIZES, CPU) > most


def test_a_remedy_goes_with_the_other_settings():
    # No fewer channels can be shared out among 64 groups.
    plan = plan_of(groups=64)
    found = remedies(plan, SIZES, CPU, training_bytes(plan, SIZES, CPU) * 3 // 4)
    assert [remedy.setting for remedy in found] == ["num_layers"]


def test_settings_that_a_model_lacks_are_not_named():
    sgc = plan_of("sgc")
    found = remedies(sgc, SIZES, CPU, training_bytes(sgc, SIZES, CPU) - 1)
    assert {remedy.setting for remedy in found} <= {"num_layers"}


def test_where_nothing_helps_it_says_so(free):
    free(1000)
    with pytest.raises(OutOfMemoryError, match="Take a smaller model or graph"):
        check_memory(PLAN, SIZES, CPU)


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (
            torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.50 GiB. GPU"),
            "20.50 GiB",
        ),
        (
            RuntimeError("can't allocate memory: you tried to allocate 4294967296 bytes."),
            "4.0 GiB",
        ),
        (MemoryError(), None),
    ],
)
def test_running_out_of_memory_is_explained(error, asked):
    with (
        pytest.raises(OutOfMemoryError) as caught,
        memory_errors_explained(PLAN, CPU, SIZES),
    ):
        raise error
    message = str(caught.value)
    assert message.startswith("cpu ran out of memory")
    assert asked is None or f"when {asked} more were asked for" in message
    assert f"training needs about {size_text(NEEDED)} beside the data" in message
    assert "`hidden_channels=16` (" in message
    assert "\n" not in message


def test_data_that_do_not_fit_are_told_from_training():
    with (
        pytest.raises(OutOfMemoryError, match="the data do not fit"),
        memory_errors_explained(PLAN, CPU),
    ):
        raise MemoryError


def test_a_model_without_an_estimate_is_explained_without_numbers():
    gaugo = plan_of("gaugo")
    with (
        pytest.raises(OutOfMemoryError, match=r"ran out of memory\. Take a smaller model"),
        memory_errors_explained(gaugo, CPU, SIZES),
    ):
        raise MemoryError


@pytest.mark.parametrize("error", [RuntimeError("shapes"), DivergedError("nan"), ValueError("x")])
def test_other_errors_pass(error):
    with pytest.raises(type(error)) as caught, memory_errors_explained(PLAN, CPU, SIZES):
        raise error
    assert caught.value is error


@pytest.mark.gpu
def test_a_gpu_that_runs_out_of_memory_is_explained():
    device = torch.device("cuda")
    with (
        pytest.raises(
            OutOfMemoryError, match=r"cuda ran out of memory when .* more were asked for"
        ),
        memory_errors_explained(PLAN, device, SIZES),
    ):
        torch.empty(2**50, dtype=torch.uint8, device=device)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "sizes",
    [
        Sizes(20_000, 100_000, 2_000, 5, entries=400_000),
        Sizes(2_000, 180_000, 16, 4),
        Sizes(50_000, 100_000, 300, 40),
    ],
    ids=["sparse", "dense", "classes"],
)
def test_what_is_not_measured_surely_fits(model, sizes):
    for preset in list_presets(model):
        plan = RunPlan.make(RunSettings(model=model, preset=preset))
        needed = training_bytes(plan, sizes, CPU)
        assert needed is None or memory._surely_enough(plan, sizes) > needed, preset
