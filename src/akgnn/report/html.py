"""Pages as one HTML file that needs nothing from outside.

Everything shown goes through the templates' escaping, and a content policy lets the browser run
only the scripts that are part of the page, by their hashes, and load nothing.
"""

import base64
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from akgnn.errors import MissingExtraError, RunFolderError
from akgnn.files import exists, json_text, write_file
from akgnn.report import values
from akgnn.report.packing import deflated, deflated_asset
from akgnn.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

    from akgnn.report.figures import Figure
    from akgnn.report.response import Response

MOST_BYTES = 1_700_000
"""What a page may weigh: it is mailed, kept beside its run, and opened on a phone."""

SCRIPTS = ("theme.js", "tables.js", "reading.js", "charts.js", "response.js")
"""What a page runs, in this order."""
PLOTLY = "plotly/plotly-basic.min.js"
"""What draws the charts; compressed, and run when the first of them is drawn."""
# A page without charts does without these.
_FOR_CHARTS = ("reading.js", "charts.js", "response.js")
_FILTERS = ("number", "signed", "p_value", "spread", "count", "pairs", "duration")


@dataclass(frozen=True)
class Page:
    """A page before it is HTML.

    The template is shown the variables `shown`, beside figures and responses; `counts` says in a
    few numbers what is on the page, `warnings` what whoever made it should know. `scripts` and
    `styles` name assets that not every page has; `data` goes to the scripts beside what they draw,
    by name, and so does `packed`, which is no JSON.
    """

    title: str
    template: str
    shown: Mapping[str, Any]
    figures: "tuple[Figure, ...]"
    responses: "tuple[Response, ...]"
    counts: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    packed: Mapping[str, bytes] = field(default_factory=dict)
    scripts: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()

    @property
    def drawn(self) -> dict[str, Any]:
        """What the script needs to draw the charts."""
        return {
            "figures": {
                figure.name: {"kind": figure.kind, "panels": [p.drawn for p in figure.panels]}
                for figure in self.figures
            },
            "responses": [response.drawn() for response in self.responses],
            "spectra": {r.graph or r.name: r.shares() for r in self.responses},
            **self.data,
        }


def check_packages() -> None:
    """Refuse to begin where the optional packages are missing."""
    if not find_spec("jinja2"):
        raise MissingExtraError("A report", "report")


def check_out(out: Path) -> None:
    """Refuse a place where no file can be written, before the work and not after it."""
    if exists(out) and out.is_dir():
        raise RunFolderError(f"Cannot write {out}: it is a folder; name a file in it.")
    if not out.parent.is_dir():
        raise RunFolderError(f"Cannot write {out}: there is no folder {out.parent}.")
    if not os.access(out.parent, os.W_OK):
        raise RunFolderError(f"Cannot write {out}: the folder {out.parent} is read-only.")


def environment() -> "Environment":
    """The templates, with everything escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    found = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update({name: getattr(values, name) for name in _FILTERS})
    return found


def _template(name: str) -> str:
    """A template without the spaces that indent its lines, which would be a part of every page."""
    file = files("akgnn.report") / "templates" / name
    return re.sub(r"^[ \t]+", "", file.read_text(encoding="utf-8"), flags=re.M)


def render(page: Page) -> str:
    """The page as HTML."""
    from markupsafe import Markup

    # Here and not above: checks of packages need no torch.
    from akgnn.report.idea import idea_shown

    has_charts = bool(page.figures or page.responses)
    names = [name for name in SCRIPTS if has_charts or name not in _FOR_CHARTS]
    early, scripts = asset("early.js"), [asset(name) for name in (*names, *page.scripts)]
    library = [asset(PLOTLY)] if has_charts else []
    template = environment().get_template(page.template)
    return template.render(
        **page.shown,
        figures=page.figures,
        responses=page.responses,
        title=page.title,
        version=__version__,
        policy=_policy([early, *scripts, *library]),
        style=Markup("\n".join(map(asset, ("page.css", "idea.css", *page.styles)))),
        idea=idea_shown(),
        early=Markup(early),
        scripts=[Markup(script) for script in scripts],
        packed={
            "drawn": deflated(json_text(page.drawn, compact=True).encode()),
            **{name: deflated(content) for name, content in page.packed.items()},
            **({"plotly": deflated_asset(PLOTLY)} if has_charts else {}),
        },
    )


def write(page: Page, out: Path) -> None:
    """Write the page; an earlier one is replaced in one step."""
    write_file(out, render(page).encode())


def asset(name: str) -> str:
    """The text of a file that is part of every page."""
    return (files("akgnn.report") / "assets" / name).read_text(encoding="utf-8")


def _policy(scripts: list[str]) -> str:
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()) for script in scripts]
    hashes = " ".join(f"'sha256-{digest.decode()}'" for digest in digests)
    return (
        f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src {hashes}"
    )
