"""What MkDocs does beyond Markdown when it builds the site (`hooks` in mkdocs.yml).

Formulas between dollar signs become MathML, which browsers draw without a script, a font or a
network. Wide tables get a box in which they scroll, by keyboard too. The page of measured results
is part of the site.
"""

import re
from html import escape, unescape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

REPORT = Path(__file__).parents[1] / "results" / "report.html"
# As documents link to it, for readers of the repository.
_LINK = "(../results/report.html"
# What pymdownx.arithmatex makes of $…$ and $$…$$.
_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', flags=re.S)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', flags=re.S)
# A long formula scrolls on a phone, by keyboard too.
_BOX = '<div class="formula" tabindex="0">{}</div>'
_SEARCH = 'data-md-component="search" role="dialog"'
_HEADING_OR_TABLE = re.compile(r"<h[1-6][^>]*>(?P<heading>.*?)</h[1-6]>|<table>.*?</table>", re.S)
# Numbers that belong together: a mean with its deviation, both ends of an interval.
_PAIR = re.compile(r"(?<=\d) (± )(?=\d)|(?<=\[)([-+−]?[\d.]+, [-+−]?[\d.]+)(?=\])")
# The name of a row, where it is short enough to stand in one line.
_NAME = re.compile(r"(<tr>\s*)<td>(?=(?:<code>)?[^<]{1,16}(?:</code>)?</td>)")
_PERMALINK = re.compile(r'<a class="headerlink".*?</a>|<[^>]+>', flags=re.S)


def on_files(files: Any, *, config: Any) -> Any:
    """Add the page of measured results, where it was made."""
    from mkdocs.structure.files import File

    if REPORT.exists():
        files.append(File.generated(config, REPORT.name, abs_src_path=str(REPORT)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links to the page of measured results lead to its place on the site."""
    return markdown.replace(_LINK, f"({REPORT.name}")


def on_page_content(html: str, **_: Any) -> str:
    """Typeset formulas, and put tables into their boxes."""
    html = _INLINE.sub(lambda found: mathml(found[1], "inline"), html)
    html = _BLOCK.sub(lambda found: _BOX.format(mathml(found[1], "block")), html)
    return boxed(html)


def on_post_page(output: str, **_: Any) -> str:
    """Name the dialog of the theme's search for those who hear it."""
    return output.replace(_SEARCH, f'{_SEARCH} aria-label="Search"')


def mathml(latex: str, display: str) -> str:
    """A formula as MathML, from LaTeX as it stands in HTML."""
    latex = unescape(latex).strip()
    text: str = convert(latex, display=display)
    return text.replace("<math ", f'<math alttext="{escape(latex)}" ', 1)


def boxed(html: str) -> str:
    """Every plain table in a box of its own, named by the heading above it."""
    heading, count = "", 0

    def box(found: re.Match[str]) -> str:
        nonlocal heading, count
        if found["heading"] is not None:
            heading, count = _PERMALINK.sub("", found["heading"]).strip(), 0
            return found[0]
        count += 1
        name = f"{heading}, table {count}" if count > 1 else f"{heading}, table"
        table = found[0].replace("<table>", '<table class="data">', 1)
        table = _PAIR.sub(lambda pair: pair[0].replace(" ", "\u00a0"), table)
        table = _NAME.sub(r'\1<td class="name">', table)
        return f'<div class="table" role="region" tabindex="0" aria-label="{name}">{table}</div>'

    return _HEADING_OR_TABLE.sub(box, html)
