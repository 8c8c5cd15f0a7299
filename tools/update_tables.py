"""Write the measured tables into the documents; with --check, only say whether they are up to date.

A table stands between `<!-- table NAME -->` and `<!-- end -->`. NAME is an experiment, measured in
`results`; `compare NAME` for its first row against the others; or `search NAME` for a search, in
`results/search`.
"""

import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from akgnn.experiments.record import Record
from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import load_spec, read_spec
from akgnn.experiments.store import RecordStore
from akgnn.experiments.tables import markdown_comparison, markdown_table

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "docs/reproduction.md", "docs/kernels.md")
_TABLE = re.compile(r"(<!-- table (.+?) -->\n).*?(<!-- end -->)", flags=re.S)


@cache
def records(folder: str) -> Sequence[Record]:
    """The records of a folder."""
    return RecordStore(ROOT / folder).read().records


def table(name: str) -> str:
    """The table of this name."""
    kind, _, rest = name.rpartition(" ")
    if kind == "search":
        spec = read_spec(ROOT / "results" / "search" / f"{rest}.toml")
        return markdown_table(spec, collect(spec, records("results/search")))
    spec = load_spec(rest)
    results = collect(spec, records("results"))
    return markdown_comparison(results) if kind == "compare" else markdown_table(spec, results)


def updated(text: str) -> str:
    """A document with its tables as the records have them."""
    return _TABLE.sub(lambda found: f"{found[1]}{table(found[2])}{found[3]}", text)


def main() -> int:
    """Update or check all documents; gives the exit status."""
    stale = []
    for name in DOCUMENTS:
        file = ROOT / name
        old = file.read_text(encoding="utf-8")
        new = updated(old)
        if new != old:
            stale.append(name)
            if "--check" not in sys.argv:
                file.write_text(new, encoding="utf-8")
    if stale:
        print(f"{'Stale' if '--check' in sys.argv else 'Updated'}: {', '.join(stale)}")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
