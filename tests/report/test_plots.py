import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from akgnn.report.plots import Curve, NumberMap, Plot, map_svg, plot_svg

SVG = "{http://www.w3.org/2000/svg}"
NUMBERS = NumberMap("A map", "Words.", "layer", "K", [("1", [2.0]), ("2", [3.5, 1.2])], 2.0, 1.0)


def plot_of(*curves, **options):
    return Plot("A title", "A summary.", "epoch", "loss", curves, **options)


def points_of(text, kind="polyline"):
    root = ElementTree.fromstring(text)
    return [
        [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]
        for line in root.iter(f"{SVG}{kind}")
    ]


def test_equal_differences_are_equal_lengths_on_both_axes():
    (points,) = points_of(plot_svg(plot_of(Curve("one", [0, 1, 2, 3], [-4, -2, 0, 2]))))
    across = [b[0] - a[0] for a, b in pairwise(points)]
    up = [a[1] - b[1] for a, b in pairwise(points)]
    assert across == pytest.approx([across[0]] * 3, abs=0.2)
    assert up == pytest.approx([up[0]] * 3, abs=0.2)
    assert across[0] > 100
    assert up[0] > 50


def test_a_band_runs_along_its_low_and_back_along_its_high_side():
    curve = Curve("one", [1, 2], [5.0, 6.0], low=[4.0, 5.5], high=[6.0, 6.5])
    text = plot_svg(plot_of(curve))
    (line,), (band,) = points_of(text), points_of(text, "polygon")
    assert [x for x, _ in band] == [line[0][0], line[1][0], line[1][0], line[0][0]]
    assert band[0][1] > line[0][1] > band[3][1]
    assert band[1][1] > line[1][1] > band[2][1]


def test_everything_lies_inside_and_ticks_are_round():
    curves = [Curve(f"a rather long name {k}", [1, 731], [0.013 * k, 1.97]) for k in range(6)]
    text = plot_svg(plot_of(*curves, has_zero=True))
    root = ElementTree.fromstring(text)
    _, _, width, height = map(int, root.get("viewBox").split())
    for line in points_of(text):
        for x, y in line:
            assert 60 < x < width
            assert 100 < y < height - 40
    for label in (">100<", ">700<", ">0<", ">0.5<", ">2<"):
        assert label in text


def test_a_curve_alone_needs_no_key():
    assert ">one<" not in plot_svg(plot_of(Curve("one", [0, 1], [0, 1])))
    both = plot_svg(plot_of(Curve("one", [0, 1], [0, 1]), Curve("two", [0, 1], [1, 1])))
    assert ">one<" in both
    assert ">two<" in both


def test_many_points_have_few_marks():
    curve = Curve("one", range(100), [float(k) for k in range(100)])
    text = plot_svg(plot_of(curve))
    assert len(points_of(text)[0]) == 100
    assert text.count('class="mark"') == 11


def test_a_place_on_the_x_axis_has_its_line_and_words():
    text = plot_svg(plot_of(Curve("one", [0, 1], [0, 1]), upright=(0.25, "links say nothing")))
    root = ElementTree.fromstring(text)
    (line,) = [each for each in root.iter(f"{SVG}line") if each.get("class") == "upright"]
    (points,) = points_of(text)
    (left, _), (right, _) = points
    assert float(line.get("x1")) == pytest.approx(left + 0.25 * (right - left), abs=0.1)
    assert "links say nothing" in text


def test_a_map_colours_by_side_and_distance():
    root = ElementTree.fromstring(map_svg(NUMBERS))
    cells = [each for each in root.iter(f"{SVG}rect") if each.get("class").startswith("cell")]
    looks = [(cell.get("class").split()[1], float(cell.get("fill-opacity"))) for cell in cells]
    assert looks[0][1] == 0
    assert looks[1] == ("above", 0.48)
    assert looks[2] == ("below", pytest.approx(0.38, abs=0.01))
    texts = [each.text for each in root.iter(f"{SVG}text") if each.get("class") == "value"]
    assert texts == ["2.00", "3.50", "1.20"]


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a & b"])
def test_names_are_escaped(name):
    curves = [Curve(name, [0, 1], [0, 1]), Curve("other", [0, 1], [0, 1])]
    for text in (plot_svg(plot_of(*curves)), map_svg(NUMBERS)):
        assert "<script" not in text
        ElementTree.fromstring(text)


@pytest.mark.parametrize("text", [plot_svg(plot_of(Curve("a", [0, 1], [0, 1]))), map_svg(NUMBERS)])
def test_it_follows_the_readers_light_or_dark_with_the_pages_colours(text):
    light, dark = text.split("prefers-color-scheme: dark")
    assert "--paper: #fcfbf8" in light
    assert "--paper: #16181c" in dark
