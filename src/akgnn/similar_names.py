"""Names that look alike but differ, such as 'a' and ' a': listed for the user, never merged."""

import re
import unicodedata
import warnings
from collections.abc import Iterable
from decimal import Decimal

from akgnn.errors import LookAlikeWarning
from akgnn.text import printable

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_TRUTHS = ("true", "false")
# Letters of Cyrillic and Greek that are drawn as Latin ones are.
_TWINS = str.maketrans(
    "АВЕКМНОРСТХаеорсухіјѕΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABEKMHOPCTXaeopcyxijsABEZHIKMNOPTYXo"
)
# Groups and names of a group that a message lists.
_MOST_GROUPS, _MOST_NAMES = 5, 4
# Letters of a name in a message.
_LONGEST = 40


def look_alikes(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Groups of different names that people take for one, in the order of the names.

    Names look alike where nothing but spaces, invisible characters, the composition of accents,
    the alphabet of a letter (Latin or Cyrillic а), the writing of a number (1, 1.0, 01) or the case
    of true and false tells them apart.
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(looks(name), []).append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def looks(name: str) -> str:
    """What look-alikes have in common."""
    # Format characters, such as a zero-width space, show nothing by themselves.
    shown = "".join(
        letter
        for letter in unicodedata.normalize("NFKC", name)
        if unicodedata.category(letter) != "Cf"
    )
    text = " ".join(shown.split()).translate(_TWINS)
    if _NUMBER.fullmatch(text):
        number = Decimal(text).normalize()
        return str(number if number else 0)
    return text.lower() if text.lower() in _TRUTHS else text


def in_words(groups: Iterable[tuple[str, ...]]) -> str:
    """Groups of look-alikes for a message: `'a', ' a'; 'b', 'b '`."""
    listed = list(groups)
    parts = [
        ", ".join(map(visible, group[:_MOST_NAMES])) + (", …" if len(group) > _MOST_NAMES else "")
        for group in listed[:_MOST_GROUPS]
    ]
    more = len(listed) - _MOST_GROUPS
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "")


def visible(name: str) -> str:
    """A name in quotes, with escapes for what nobody sees."""
    short = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
    letters = (
        letter.encode("unicode_escape").decode()
        if not letter.isascii() and unicodedata.category(letter) in ("Cf", "Mn", "Zs")
        else letter
        for letter in printable(short)
    )
    return f"'{''.join(letters)}'"


def warn_of_look_alikes(what: str, names: Iterable[str]) -> None:
    """Warn of names that look alike, such as labels, if there are any; see `told`."""
    if line := told(what, names):
        warnings.warn(line, LookAlikeWarning, stacklevel=2)


def told(what: str, names: Iterable[str]) -> str:
    """A line about names that look alike; empty where none do.

    Args:
        what: Where they are, and what they are, in the plural.
        names: The names.
    """
    groups = look_alikes(names)
    if not groups:
        return ""
    return (
        f"{what} that look alike count as different: {in_words(groups)}. Write them alike if they "
        "mean the same."
    )
