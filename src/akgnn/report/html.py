"""Pages as one HTML file that needs nothing from outside.

Everything shown goes through the templates' escaping, and a content policy lets the browser run
only the scripts that are part of the page, by their hashes, and load nothing.
"""

import base64
import hashlib
import json
import os
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from akgnn.errors import MissingExtraError, RunFolderError
from akgnn.plain_json import without_nan
from akgnn.report import values
from akgnn.report.page import Page
from akgnn.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

_SCRIPTS = ("theme.js", "tables.js", "charts.js", "response.js")
_FILTERS = ("number", "signed", "p_value", "spread", "count", "pairs")


def check_packages() -> None:
    """Refuse to begin where the optional packages are missing."""
    if not all(find_spec(name) for name in ("jinja2", "plotly")):
        raise MissingExtraError("A report", "report")


def check_out(out: Path) -> None:
    """Refuse a place where no file can be written, before the work and not after it."""
    if out.is_dir():
        raise RunFolderError(f"Cannot write {out}: it is a folder; name a file in it.")
    if not out.parent.is_dir():
        raise RunFolderError(f"Cannot write {out}: there is no folder {out.parent}.")


def environment() -> "Environment":
    """The templates, with everything escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("akgnn.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update({name: getattr(values, name) for name in _FILTERS})
    return found


def render(page: Page) -> str:
    """The page as HTML."""
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    early, scripts = asset("early.js"), [get_plotlyjs(), *map(asset, _SCRIPTS)]
    return (
        environment()
        .get_template(page.template)
        .render(
            **page.shown,
            figures=page.figures,
            responses=page.responses,
            title=page.title,
            version=__version__,
            policy=_policy([early, *scripts]),
            style=Markup(asset("page.css")),
            early=Markup(early),
            scripts=[Markup(script) for script in scripts],
            drawn=Markup(json_for_html(page.drawn)),
        )
    )


def write(page: Page, out: Path) -> None:
    """Write the page; an earlier one is replaced in one step."""
    text = render(page)
    temporary = out.with_name(f".tmp-{os.getpid()}-{out.name}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(out)
    except OSError as error:
        raise RunFolderError(f"Cannot write {out}: {error.strerror or error}.") from error


def json_for_html(content: Any) -> str:
    """JSON that may stand inside <script>: nothing in it can end the element."""
    text = json.dumps(without_nan(content), ensure_ascii=True, allow_nan=False)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def asset(name: str) -> str:
    """The text of a file that is part of every page."""
    return (files("akgnn.report") / "assets" / name).read_text(encoding="utf-8")


def _policy(scripts: list[str]) -> str:
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    return (
        f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src {hashes}"
    )


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
