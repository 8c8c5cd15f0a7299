"""Where numbers come from: versions, commit and device, as records keep them."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from akgnn.version import __version__


def environment(device: str) -> dict[str, Any]:
    """Where and when a run was computed."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else "cpu"
    return {"device": name, "threads": torch.get_num_threads(), "ended": now}


def versions() -> dict[str, str]:
    """The version of everything that computes."""
    return {
        "python": platform.python_version(),
        "akgnn": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "platform": platform.platform(),
    }


@cache
def run_versions() -> dict[str, str]:
    """Versions of everything that computes, and the commit where the code lies in a repository.

    A copy without its repository may say the commit in AKGNN_COMMIT.
    """
    commit = os.environ.get("AKGNN_COMMIT") or _git_commit()
    return {**versions(), **({"commit": commit} if commit else {})}


def _git_commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    here = Path(__file__).parent
    try:
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=10)
        return done.stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
