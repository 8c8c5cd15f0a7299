"""Where data sets that do not come with the package lie."""

import os
from pathlib import Path


def find_data_root(given: Path | str | None = None) -> Path:
    """The folder given, or that of the environment variable AKGNN_DATA, or `~/.cache/akgnn`."""
    default = os.environ.get("AKGNN_DATA") or Path.home() / ".cache" / "akgnn"
    return Path(default if given is None else given)
