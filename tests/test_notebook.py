import math
from xml.etree import ElementTree

from akgnn.notebook import card, curves


def test_a_card_shows_what_it_is_given_and_runs_nothing():
    text = card("<script>1</script>", [("<b>", "a & b")], "<p>markup</p>")
    root = ElementTree.fromstring(text)
    assert root.find("strong").text == "<script>1</script>"
    assert [each.text for each in root.iter() if each.tag in ("th", "td")] == ["<b>", "a & b"]
    assert root.find("p") is not None


def paths(text):
    root = ElementTree.fromstring(text)
    return [each.get("d") for each in root.iter() if each.tag.endswith("path")]


def test_curves_go_from_the_first_epoch_to_the_last():
    text = curves("Loss", {"training": [3.0, 2.0, 1.0], "validation": [2.0, math.nan, 3.0]}, 2)
    _, mark, first, second = paths(text)
    assert first == "M44.0 26.0L206.0 57.0L368.0 88.0"
    assert second == "M44.0 57.0L368.0 26.0"
    assert mark.startswith("M206.0 ")


def test_of_many_epochs_a_part_is_drawn_with_the_last():
    (*_, line) = paths(curves("Loss", {"training": [float(k) for k in range(5000)]}, 0))
    assert 100 < line.count("L") < 160
    assert line.endswith(" 26.0")


def test_without_two_epochs_nothing_is_drawn():
    assert curves("Loss", {"training": [1.0], "validation": []}, 1) == ""
    assert curves("Loss", {"training": [math.nan] * 3}, 1) == ""


def test_a_loss_that_stays_the_same_is_drawn_too():
    assert len(paths(curves("Loss", {"training": [1.0, 1.0]}, 1))) == 3


def test_a_loss_of_almost_nothing_is_called_0():
    root = ElementTree.fromstring(curves("Loss", {"training": [2.0, 5e-5]}, 1))
    assert [each.text for each in root.iter() if each.tag.endswith("text")][1:3] == ["2", "0"]
