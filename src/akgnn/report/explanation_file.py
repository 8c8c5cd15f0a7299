"""Explanations written to a file: a picture as SVG or PNG, or a page."""

import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from akgnn.errors import MissingExtraError, SettingsError
from akgnn.explain.explanation import Explanation
from akgnn.explain.picture import picture
from akgnn.files import write_file
from akgnn.report import html
from akgnn.report.explanation_page import explanation_page
from akgnn.runs.run import Run
from akgnn.svg import drawing, words

# Pixels for each unit of the picture, and the most there may be in all: larger ones are drawn at
# their own size.
_ZOOM = 2
_MOST_PIXELS = 60_000_000
_SIZE = re.compile(r' width="([\d.]+)" height="([\d.]+)"')


def check_explanation_file(out: Path) -> None:
    """Refuse what cannot be written, before the work and not after it.

    Raises:
        SettingsError: The name ends otherwise, or there is no font for a PNG.
        RunFolderError: There is no such folder, or the name is one.
        MissingExtraError: An optional package is missing.
    """
    suffix = out.suffix.lower()
    if suffix not in (".svg", ".png", ".html"):
        ending = f"{out.suffix!r}" if out.suffix else "no ending"
        raise SettingsError(f"A picture ends in .svg, .png or .html; {out} has {ending}.")
    html.check_out(out)
    if suffix == ".html":
        html.check_packages()
    if suffix == ".png":
        _check_png()


def write_explanations(found: Sequence[Explanation], run: Run, out: Path, *, top: int) -> None:
    """Write explanations as the ending of the file says; an earlier file is replaced in one step.

    Args:
        found: One a node.
        run: The run whose model they explain.
        out: A file that ends in .svg, .png or .html.
        top: How many neighbours of each are drawn, and how many nodes behind them.
    """
    if out.suffix.lower() == ".html":
        html.write(explanation_page(found, run, top=top), out)
        return
    drawn = picture(found, top=top)
    write_file(out, png(drawn) if out.suffix.lower() == ".png" else drawn.encode())


def png(svg: str) -> bytes:
    """A drawing of this package as PNG, with the fonts of this machine."""
    from resvg_py import svg_to_bytes

    size = _SIZE.search(svg)
    assert size is not None, "every drawing has a size"
    pixels = float(size[1]) * float(size[2]) * _ZOOM**2
    return bytes(svg_to_bytes(svg_string=svg, zoom=_ZOOM if pixels <= _MOST_PIXELS else 1))


def _check_png() -> None:
    if not find_spec("resvg_py"):
        raise MissingExtraError("A PNG", "report")
    blank, text = (drawing(40, 20, "", "", [words(0, 15, letters)]) for letters in (" ", "M"))
    if png(blank) == png(text):
        raise SettingsError(
            "A PNG needs a font, and this machine has none that is known; install one, such as "
            "DejaVu Sans, or write .svg or .html."
        )
