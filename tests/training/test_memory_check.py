import pytest
import torch

from akgnn.errors import DivergedError, OutOfMemoryError
from akgnn.training import memory_check
from akgnn.training.memory import Sizes, data_bytes, training_bytes
from akgnn.training.memory_check import (
    check_memory,
    memory_errors_explained,
    remedies,
    size_text,
)
from akgnn.training.presets import load_preset

CPU = torch.device("cpu")
SIZES = Sizes(1_000_000, 20_000_000, 64, 8)
PRESET = load_preset("akgnn", "paper", "cora")
NEEDED = training_bytes(PRESET, SIZES)


@pytest.fixture
def free(monkeypatch):
    """Sets how much memory there is."""
    return lambda number: monkeypatch.setattr(memory_check, "free_bytes", lambda device: number)


def test_what_fits_passes(free):
    free(NEEDED)
    check_memory(PRESET, SIZES, CPU)
    free(NEEDED + data_bytes(SIZES))
    check_memory(PRESET, SIZES, CPU, is_loaded=False)


def test_what_does_not_fit_is_refused_with_both_numbers_and_the_way_out(free):
    free(NEEDED * 2 // 3)
    with pytest.raises(OutOfMemoryError) as caught:
        check_memory(PRESET, SIZES, CPU)
    message = str(caught.value)
    assert f"needs about {size_text(NEEDED)} beside the data" in message
    assert f"cpu has {size_text(NEEDED * 2 // 3)} free" in message
    assert "--set hidden_channels=32 (" in message
    assert "or --set num_layers=2 (" in message
    assert "--force" in message


def test_data_still_to_be_loaded_need_room_too(free):
    free(NEEDED)
    with pytest.raises(OutOfMemoryError, match="with the data"):
        check_memory(PRESET, SIZES, CPU, is_loaded=False)


@pytest.mark.parametrize("model", ["akgnn", "gat"])
def test_what_is_not_known_is_not_refused(model, free):
    free(None if model == "akgnn" else 1)
    check_memory(load_preset(model, "paper", "cora"), SIZES, CPU)


def test_a_remedy_is_the_mildest_that_fits():
    for most in (NEEDED - 1, NEEDED // 2, NEEDED // 3):
        for remedy in remedies(PRESET, SIZES, most):
            less = PRESET.updated({remedy.setting: remedy.value})
            assert remedy.needed == training_bytes(less, SIZES) <= most
            milder = {
                "hidden_channels": 2 * remedy.value,
                "num_layers": remedy.value + 1,
                "recompute": False,
            }[remedy.setting]
            more = PRESET.updated({remedy.setting: milder})
            assert training_bytes(more, SIZES) > most


def test_a_remedy_goes_with_the_other_settings():
    # No fewer channels can be shared out among 64 groups.
    preset = PRESET.updated({"groups": 64})
    found = remedies(preset, SIZES, training_bytes(preset, SIZES) // 2)
    assert [remedy.setting for remedy in found] == ["num_layers"]


def test_settings_that_a_model_lacks_are_not_named():
    sgc = load_preset("sgc", "paper", "cora")
    (remedy,) = remedies(sgc, SIZES, training_bytes(sgc, SIZES) - 1)
    assert (remedy.setting, remedy.value) == ("num_layers", 1)


def test_where_nothing_helps_it_says_so(free):
    free(1000)
    with pytest.raises(OutOfMemoryError, match="Take a smaller model or graph"):
        check_memory(PRESET, SIZES, CPU)


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
        memory_errors_explained(PRESET, CPU, SIZES),
    ):
        raise error
    message = str(caught.value)
    assert message.startswith("cpu ran out of memory")
    assert asked is None or f"when {asked} more were asked for" in message
    assert f"training needs about {size_text(NEEDED)} beside the data" in message
    assert "--set hidden_channels=16 (" in message
    assert "\n" not in message


def test_data_that_do_not_fit_are_told_from_training():
    with (
        pytest.raises(OutOfMemoryError, match="the data do not fit"),
        memory_errors_explained(PRESET, CPU),
    ):
        raise MemoryError


def test_a_model_without_a_rule_is_explained_without_numbers():
    gat = load_preset("gat", "paper", "cora")
    with (
        pytest.raises(OutOfMemoryError, match=r"ran out of memory\. Take a smaller model"),
        memory_errors_explained(gat, CPU, SIZES),
    ):
        raise MemoryError


@pytest.mark.parametrize("error", [RuntimeError("shapes"), DivergedError("nan"), ValueError("x")])
def test_other_errors_pass(error):
    with pytest.raises(type(error)) as caught, memory_errors_explained(PRESET, CPU, SIZES):
        raise error
    assert caught.value is error


@pytest.mark.gpu
def test_a_gpu_that_runs_out_of_memory_is_explained():
    device = torch.device("cuda")
    with (
        pytest.raises(
            OutOfMemoryError, match=r"cuda ran out of memory when .* more were asked for"
        ),
        memory_errors_explained(PRESET, device, SIZES),
    ):
        torch.empty(2**50, dtype=torch.uint8, device=device)


def test_sizes_are_written_for_readers():
    assert size_text(3 * 2**20) == "3.0 MiB"
    assert size_text(5 * 2**29) == "2.5 GiB"
    assert size_text(250 * 2**30) == "250 GiB"
