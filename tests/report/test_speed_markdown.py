from itertools import pairwise

import pytest

from akgnn.bench.record import BenchContents
from akgnn.errors import UnknownNameError
from akgnn.report.speed_markdown import NOTHING, plot_files, speed_markdown
from bench_data import CARD, epoch_case, full_record, layer_case, record

BOTH_DEVICES = BenchContents((full_record(), full_record(CARD)), ())


@pytest.mark.parametrize("name", ["layer", "epoch", "growth", "brief"])
def test_without_records_a_document_says_so(name):
    assert speed_markdown(name, BenchContents((), ())) == NOTHING


def test_without_records_there_are_no_plots():
    assert speed_markdown("plots", BenchContents((), ())) == ""
    assert plot_files(BenchContents((), ())) == {}


@pytest.mark.parametrize("name", ["layer", "epoch", "growth"])
def test_every_device_has_its_table(name):
    text = speed_markdown(name, BOTH_DEVICES)
    assert text.index("**A Card** (2026-01-02, 3 rep") < text.index("**A Processor, 2 threads** (")
    assert text.count("| akgnn |") == 2 * {"layer": 2, "epoch": 1, "growth": 2}[name]
    # Every table is a block of its own.
    lines = text.splitlines()
    for before, line in pairwise(lines):
        assert not (line.startswith("|") and before and not before.startswith("|"))


def test_who_failed_is_said():
    text = speed_markdown("layer", BOTH_DEVICES)
    assert text.count("What failed:\n\n- even degrees: 100 nodes") == 2
    assert "What failed" not in speed_markdown("epoch", BOTH_DEVICES)


def test_plots_are_shown_with_words_and_their_files_are_there():
    text = speed_markdown("plots", BOTH_DEVICES)
    names = list(plot_files(BOTH_DEVICES))
    assert len(names) == 4
    for name in names:
        assert f"](plots/{name})\n" in text
    assert "![Time of forward and backward in ns an edge on A Card" in text


def test_the_brief_is_ours_beside_the_quickest_peer_of_the_largest_case():
    small, large, half = layer_case(1000), layer_case(10_000), layer_case(10_000, dtype="bfloat16")
    text = speed_markdown("brief", BenchContents((record(small, large, half, epoch_case()),), ()))
    assert text.startswith("A Processor, 2 threads:\n\n| ")
    rows = [line for line in text.splitlines() if line.startswith("| ")][2:]
    assert rows == [
        "| epoch, Cora: 2,708 nodes, 10,556 edges (largest degree 168), 64 channels, float32 "
        "| 11.0 | PyG GCN | 33.0 | 3.00 |",
        "| forward + backward, even degrees: 1,000 nodes, 10,000 edges (largest degree 10), "
        "64 channels, float32 | 10.2 | torch CSR | 20.5 | 2.00 |",
    ]


def test_an_unknown_name_is_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'layer'"):
        speed_markdown("lyer", BOTH_DEVICES)
