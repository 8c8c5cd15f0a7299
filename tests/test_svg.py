from xml.etree import ElementTree

import pytest

from akgnn.svg import clipped, drawing, element, filled, width_of, words, wrapped

HOSTILE = '<img src=x onerror=alert(1)>"\x00\x1b\ud800&'


def test_attributes_are_escaped_and_numbers_short():
    assert element("a", "b", x=1.0, y=0.251, font_size=None, class_='"') == (
        '<a x="1" y="0.25" class="&quot;">b</a>'
    )


def test_a_drawing_is_read_as_xml_whatever_it_names():
    text = drawing(100, 50, HOSTILE, HOSTILE, [words(0, 0, HOSTILE, room=40)])
    root = ElementTree.fromstring(text)
    assert not [each for each in root.iter() if each.tag.endswith(("img", "script"))]
    title, summary = root[0].text, root[1].text
    assert title == summary == r'<img src=x onerror=alert(1)>"\x00\x1b\ud800&'
    assert root.get("role") == "img"
    assert root.get("aria-label") == title


def test_text_is_told_as_a_whole_where_it_is_cut():
    cut, whole = words(0, 0, "a" * 100, room=60), words(0, 0, "aaa", room=60)
    assert f"<title>{'a' * 100}</title>" in cut
    assert "<title>" not in whole


@pytest.mark.parametrize("text", ["short", "x" * 500, "日本語" * 30, "word " * 40, ""])
@pytest.mark.parametrize("room", [5, 40, 200])
def test_clipped_text_fits_and_keeps_both_ends(text, room):
    shown = clipped(text, room)
    assert width_of(shown) <= max(room, width_of("…"))
    if shown not in ("…", text):
        start, _, end = shown.partition("…")
        assert text.startswith(start)
        assert text.endswith(end)


def test_lines_fit_and_lose_no_word():
    text = "A sentence of some words that does not fit into one line; 91.1 % of it."
    lines = wrapped(text, 120)
    assert " ".join(lines) == text
    assert all(width_of(line) <= 120 for line in lines)
    assert not any(line.startswith("%") for line in lines)


def test_a_word_that_no_line_holds_is_clipped():
    assert wrapped("an " + "x" * 90, 60)[1].count("…") == 1


def test_colours_have_a_class_for_pages_with_themes():
    assert filled("plus") == {"class_": "fill-plus", "fill": "#0b62a4"}
