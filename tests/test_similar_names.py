import pytest

from akgnn.errors import LookAlikeWarning
from akgnn.similar_names import look_alikes, told, warn_of_look_alikes


@pytest.mark.parametrize(
    "names",
    [
        ("a", " a", "a ", "\ta", "a\u00a0", "\u3000a"),
        ("True", "true", "TRUE"),
        ("1", "1.0", "01", "+1", "1e0", " 1 "),
        ("0", "-0", "0.00"),
        ("caf\u00e9", "cafe\u0301"),
        ("ab", "a\u200bb", "\ufeffab", "a\u00adb", "a\u2060b"),
        ("new york", "new  york", "new\u00a0york"),
        ("\uff21", "A"),
        ("Cop", "\u0421\u043e\u0440"),
        (
            "\u0646\u0645\u06cc\u200c\u062f\u0627\u0646\u0645",
            "\u0646\u0645\u06cc\u062f\u0627\u0646\u0645",
        ),
    ],
)
def test_names_that_nobody_can_tell_apart_are_one_group(names):
    assert look_alikes(["other", *names]) == [names]


def test_what_people_see_is_another_name():
    assert not look_alikes(
        ["a", "A", "b", "yes", "Yes", "1", "1.5", "-1", "v1", "1_0", "10", "é", "e"]
    )
    assert told("Labels", ["a", "b"]) == ""


def test_what_is_invisible_is_shown():
    line = told("nodes.csv: labels", ["a", "a\u200b", "x y", "x\u00a0y", "caf\u00e9", "cafe\u0301"])
    assert r"'a', 'a\u200b'; 'x y', 'x\xa0y'; 'café', 'cafe\u0301'" in line
    many = [f"{number}{end}" for number in range(9) for end in ("", ".0", ".00", ".000", ".0000")]
    line = told("Labels", [*many, "x" * 500, "x" * 500 + " "])
    assert "'0', '0.0', '0.00', '0.000', …" in line
    assert "and 5 more" in line
    assert len(line) < 400


def test_a_warning_says_the_same():
    with pytest.warns(LookAlikeWarning, match="y: labels that look alike count as different: 'a'"):
        warn_of_look_alikes("y: labels", ["a", "a "])
