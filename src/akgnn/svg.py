"""SVG as plain text: elements, and words whose width is known well enough to place them.

A drawing carries its colours in its elements, so that it looks the same wherever it is opened. Each
also has a class, by which a page with themes gives it another colour.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from akgnn.text import escaped, printable

# Names first, since not every program that draws SVG knows the system's own font or a sans-serif.
FONTS = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans', "
    "'Liberation Sans', 'DejaVu Sans', sans-serif"
)
COLOURS = {
    "paper": "#fcfbf8",
    "ink": "#1f2328",
    "muted": "#5c6470",
    "rule": "#d8d4ca",
    "plus": "#0b62a4",
    "minus": "#b4500a",
}
# Widths in parts of the font's size, of DejaVu Sans, which is wider than most.
_NARROW, _WIDE = frozenset("iljtfrI.,:;'|!()[]{}/\\ ‐-`\""), frozenset("mwMW@%&…—")
_BOLD = 1.12
# A number and its unit stay on one line.
_BREAKS = re.compile(" (?!%)")


def element(name: str, content: str = "", /, **attributes: Any) -> str:
    """An element with its attributes; `font_size` stands for `font-size`, `class_` for `class`.

    Args:
        name: Name of the element.
        content: What is in it, as markup.
        attributes: Values, which are escaped; those that are None are left out.
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{pairs}>{content}</{name}>" if content else f"<{name}{pairs}/>"


def drawing(width: float, height: float, title: str, summary: str, parts: Iterable[str]) -> str:
    """A whole drawing on a background of its own.

    Args:
        width: Its width.
        height: Its height.
        title: What it is called, for those who do not see it and as its name.
        summary: What it shows, in a sentence or two.
        parts: Its elements.
    """
    inner = [
        element("title", escaped(title)),
        element("desc", escaped(summary)),
        element("rect", width=width, height=height, **filled("paper")),
        *parts,
    ]
    return element(
        "svg",
        "\n".join(["", *inner, ""]),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=title,
        font_family=FONTS,
        font_size=13,
    )


def filled(colour: str) -> dict[str, Any]:
    """The attributes of what is filled with a colour, by its name."""
    return {"class_": f"fill-{colour}", "fill": COLOURS[colour]}


def lined(colour: str, width: float, **more: Any) -> dict[str, Any]:
    """The attributes of a line in a colour, by its name."""
    line = {"stroke": COLOURS[colour], "stroke_width": width, "fill": "none"}
    return {"class_": f"stroke-{colour}", **line, **more}


def words(
    x: float,
    y: float,
    text: str,
    colour: str = "ink",
    *,
    size: float = 13,
    bold: bool = False,
    anchor: str | None = None,
    room: float | None = None,
    halo: bool = False,
) -> str:
    """A line of text; what does not fit into the room is cut out of its middle.

    The whole text is then told to who points at it. A halo keeps lines behind the text off it.
    """
    shown = printable(text) if room is None else clipped(text, room, size, bold=bold)
    whole = "" if shown == printable(text) else element("title", escaped(text))
    around: dict[str, Any] = {}
    look = filled(colour)
    if halo:
        around = {"stroke": COLOURS["paper"], "stroke_width": 5, "paint_order": "stroke"}
        look["class_"] = f"{look['class_']} stroke-paper"
    return element(
        "text",
        whole + escaped(shown),
        x=x,
        y=y,
        font_size=None if size == 13 else size,
        font_weight="600" if bold else None,
        text_anchor=anchor,
        **look,
        **around,
    )


def width_of(text: str, size: float = 13, *, bold: bool = False) -> float:
    """About how wide a text is drawn, rather more than less."""
    return sum(map(_width, text)) * size * (_BOLD if bold else 1)


def clipped(text: str, room: float, size: float = 13, *, bold: bool = False) -> str:
    """A text that fits into the room; of long ones beginning and end, which tell ids apart."""
    text = printable(text)
    if width_of(text, size, bold=bold) <= room:
        return text
    kept = len(text) - 1
    shown = "…"
    while kept > 0 and width_of(shown := _ends(text, kept), size, bold=bold) > room:
        kept -= 1 + kept // 50
    return shown if kept > 0 else "…"


def wrapped(text: str, room: float, size: float = 13, *, bold: bool = False) -> list[str]:
    """A text as lines that fit into the room; a word that does not is clipped."""
    lines: list[str] = []
    for word in _BREAKS.split(printable(text)):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size, bold=bold) <= room:
            lines[-1] = longer
        else:
            lines.append(clipped(word, room, size, bold=bold))
    return lines


def _ends(text: str, kept: int) -> str:
    start = (kept + 1) // 2
    return f"{text[:start]}…{text[len(text) - (kept - start) :]}"


def _width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.05
    if letter in _WIDE:
        return 0.98
    if letter in _NARROW:
        return 0.4
    return 0.71 if letter.isupper() else 0.63


def _value(value: object) -> str:
    """A number without needless digits, or an escaped text."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else escaped(value)
