import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from akgnn.bench.record import BenchContents
from akgnn.errors import UnknownNameError
from akgnn.report.panels import Panel
from akgnn.report.speed import plots_of
from akgnn.report.speed_documents import NOTHING, plot_files, speed_markdown, svg
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


SVG = "{http://www.w3.org/2000/svg}"


def panel_of(*lines):
    drawn = {"unit": "ns an edge", "lines": [dict(zip("xy", line, strict=True)) for line in lines]}
    for number, line in enumerate(drawn["lines"]):
        line["name"] = f"line {number}"
    return Panel("A title", "A summary.", (), (), drawn)


def points_of(text):
    root = ElementTree.fromstring(text)
    return [
        [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]
        for line in root.iter(f"{SVG}polyline")
    ]


def test_equal_ratios_are_equal_lengths_on_both_axes():
    (points,) = points_of(svg(panel_of(([10, 100, 1000, 10_000], [1, 10, 100, 1000]))))
    across = [b[0] - a[0] for a, b in pairwise(points)]
    up = [a[1] - b[1] for a, b in pairwise(points)]
    assert across == pytest.approx([across[0]] * 3, abs=0.2)
    assert up == pytest.approx([up[0]] * 3, abs=0.2)
    assert across[0] > 90
    assert up[0] > 50


def test_everything_drawn_lies_inside():
    text = svg(panel_of(([10**4, 10**9], [0.003, 7e5]), ([10**5], [5.0])))
    for line in points_of(text):
        for x, y in line:
            assert 70 < x < 470
            assert 60 < y < 300
    for label in (">10⁴<", ">10⁹<", ">0.01<", ">1,000<", ">10⁵<"):
        assert label in text


def test_an_axis_of_few_powers_of_ten_has_ticks_between_them():
    text = svg(panel_of(([10**4, 10**7], [4000, 6e5])))
    for label in (">5,000<", ">5·10⁵<"):
        assert label in text


def test_lines_are_named_and_differ_in_colour_dash_and_mark():
    lines = [([1, 10], [k, k]) for k in range(1, 6)]
    text = svg(panel_of(*lines))
    root = ElementTree.fromstring(text)
    groups = [group for group in root.iter(f"{SVG}g") if group.find(f"{SVG}polyline") is not None]
    looks = [
        (
            group.get("class"),
            group.find(f"{SVG}polyline").get("stroke-dasharray"),
            group.find(f"{SVG}path").get("d"),
        )
        for group in groups
    ]
    for kind in zip(*looks, strict=True):
        assert len(set(kind)) == 5
    for number in range(5):
        assert f">line {number}<" in text


def test_it_follows_the_readers_light_or_dark_with_the_pages_colours():
    text = svg(panel_of(([1, 10], [1, 2])))
    light, dark = text.split("prefers-color-scheme: dark")
    assert "--paper: #fcfbf8" in light
    assert "--paper: #16181c" in dark


def test_names_are_escaped():
    panel = panel_of(([1, 10], [1, 2]))
    panel.drawn["lines"][0]["name"] = "<script>alert(1)</script>"
    text = svg(panel)
    assert "<script" not in text
    ElementTree.fromstring(text)


def test_the_same_record_gives_the_same_file():
    first, second = (plots_of(BenchContents((full_record(),), ())) for _ in range(2))
    assert [*map(svg, first.values())] == [*map(svg, second.values())]
    assert "A Processor, 2 threads: time" in svg(next(iter(first.values())))
