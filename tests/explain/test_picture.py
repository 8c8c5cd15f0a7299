import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from akgnn.explain.explanation import Neighbour, explain_node
from akgnn.explain.neighbourhood import Fan
from akgnn.explain.nodes import NodeFacts
from akgnn.explain.picture import bare_picture, picture
from akgnn.svg import COLOURS
from explain_data import Smoothing, star

HOSTILE = '<img src=x onerror=alert(1)>"&\x00</script>'


@pytest.fixture(scope="module")
def found():
    return explain_node(Smoothing(), star(), 0)


def with_effects(found, effects, name="n{}"):
    """The explanation with other neighbours, of these effects."""
    facts = [NodeFacts(k, name.format(k), "test", "a", "b") for k in range(len(effects))]
    pairs = sorted(zip(facts, effects, strict=True), key=lambda pair: -abs(pair[1]))
    around = tuple(Neighbour(fact, effect, "b") for fact, effect in pairs)
    return replace(found, neighbours=around, num_neighbours=len(around))


def parts(text, tag):
    return [each for each in ElementTree.fromstring(text).iter() if each.tag.endswith("}" + tag)]


def edges(text):
    """The lines between the node and its neighbours, whose curves start at its side."""
    middle = Fan.width / 2
    found = []
    for path in parts(text, "path"):
        match = re.match(r"M([\d.]+) [\d.]+C", path.get("d"))
        if match and abs(float(match[1]) - middle) > 20:
            found.append((1 if float(match[1]) > middle else -1, path))
    return found


def texts(text):
    return ["".join(each.itertext()) for each in parts(text, "text")]


def test_neighbours_stand_on_the_side_they_speak_for_with_lines_by_size(found):
    drawn = edges(picture([with_effects(found, [2.0, -1.0, 0.5])]))
    widths = {side: [] for side in (-1, 1)}
    for side, path in drawn:
        colour = COLOURS["plus" if side > 0 else "minus"]
        assert path.get("stroke") == colour
        widths[side].append(float(path.get("stroke-width")))
    assert (len(widths[-1]), len(widths[1])) == (1, 2)
    assert max(widths[1]) > widths[-1][0] > min(widths[1])


def test_small_effects_look_small(found):
    (_, line), *_ = edges(picture([with_effects(found, [0.02])]))
    assert float(line.get("stroke-width")) < 2


def test_who_hardly_matters_is_grey_and_dotted(found):
    text = picture([with_effects(found, [0.004])])
    ((_, line),) = edges(text)
    assert line.get("stroke") == COLOURS["muted"]
    assert line.get("stroke-dasharray")
    assert "hardly matter" in texts(text)
    assert "none speaks against b" in texts(text)


def test_of_a_hub_the_rest_is_told_together(found):
    text = picture([with_effects(found, [3.0, -2.0, *[0.1] * 20, *[-0.2] * 5])], top=4)
    assert len(edges(text)) == 4
    assert {"and 20 others: together +2.00", "and 3 others: together −0.60"} <= set(texts(text))


def test_ids_classes_effects_and_roles_are_shown(found):
    shown = texts(picture([found]))
    first = found.neighbours[0]
    assert first.facts.name in shown
    assert "training label" in shown
    assert "predicted, no label" in shown
    assert any(text.startswith("Node 0 (test): b, ") for text in shown)
    assert any(text.startswith("own features ") for text in shown)
    assert "without it: a" in shown
    assert any("gradient times features" in text for text in shown)
    assert any("is exact" in text for text in shown)


def test_a_training_label_is_filled_and_a_prediction_hollow(found):
    circles = parts(picture([found]), "circle")
    fills = [circle.get("fill") for circle in circles if circle.get("r") == "7"]
    assert fills.count(COLOURS["paper"]) == 1
    assert len(fills) == 3


def test_a_node_without_neighbours_has_its_own_features(found):
    text = picture([explain_node(Smoothing(), star(), 5)])
    assert edges(text) == []
    assert any("It has no neighbours" in each for each in texts(text))
    assert not any("speak" in each for each in texts(text))


def test_pages_may_have_the_words_elsewhere(found):
    shown = texts(bare_picture(found))
    assert not any("Node 0" in text or "exact" in text for text in shown)


def test_a_narrow_picture_has_the_same_words(found):
    wide, narrow = bare_picture(found), bare_picture(found, narrow=True)
    assert sorted(texts(wide)) == sorted(texts(narrow))
    root = ElementTree.fromstring(narrow)
    assert float(root.get("width")) < 450
    height = float(root.get("height"))
    assert all(0 < float(each.get("y")) < height for each in parts(narrow, "text"))
    alone = explain_node(Smoothing(), star(), 5)
    assert "own features" in " ".join(texts(bare_picture(alone, narrow=True)))


def test_several_nodes_stand_below_each_other(found):
    one, two = (ElementTree.fromstring(picture([found] * k)) for k in (1, 2))
    assert float(two.get("height")) == pytest.approx(2 * float(one.get("height")))
    assert two.get("width") == one.get("width")


def test_names_of_any_kind_are_shown_and_not_executed(found):
    named = with_effects(found, [1.0, -1.0], HOSTILE + "{}")
    facts = replace(found.facts, name=HOSTILE, label=HOSTILE, predicted=HOSTILE)
    named = replace(named, facts=facts, predicted=replace(found.predicted, name=HOSTILE))
    for text in (picture([named]), named._repr_html_()):
        assert "<img" not in text
        assert "<script" not in text
        assert "\x00" not in text
        tags = {each.tag.rpartition("}")[2] for each in ElementTree.fromstring(text).iter()}
        assert tags <= {"svg", "title", "desc", "rect", "text", "path", "circle", "div"}


@pytest.mark.parametrize("name", ["x" * 300, "日本語" * 50, "W" * 40, ""])
def test_no_words_leave_the_picture(found, name):
    named = with_effects(found, [1.0, -1.0, 0.3], name + "{}")
    text = picture([replace(named, facts=replace(found.facts, name=name))])
    # Clipped by what fits; that widths are not guessed too small was looked at.
    assert all(len(shown) < 130 or "…" in shown for shown in texts(text))
    height = float(ElementTree.fromstring(text).get("height"))
    assert all(0 < float(each.get("y")) < height for each in parts(text, "text"))


def test_it_says_in_words_what_it_shows(found):
    root = ElementTree.fromstring(picture([found]))
    assert root.get("aria-label") == "Why node 0 is b"
    assert "Neighbour 1 speaks for: +" in root[1].text


def test_it_repeats(found):
    assert picture([found]) == picture([found])
