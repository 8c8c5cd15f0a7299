"""What torch's C++ writes to standard error; decided before torch is imported, so nothing here may.

A process that loses another has one line to say. Torch would say each connection that broke, with
the addresses of C++ functions, dozens of lines a process.
"""

import os
import sys
from collections.abc import MutableMapping

_NAME = "TORCH_CPP_LOG_LEVEL"


def errors_only(environment: MutableMapping[str, str] = os.environ) -> None:
    """Leave out torch's warnings in processes that torchrun started, unless the user wants them."""
    if "torch" not in sys.modules and "RANK" in environment:
        environment.setdefault(_NAME, "ERROR")
