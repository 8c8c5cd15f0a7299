"""How OpenMP's threads wait for work; decided before torch is imported, so nothing here may."""

import os
import sys
from collections.abc import MutableMapping

# What people set themselves to say how threads wait: the standard, GNU's and LLVM's own.
_NAMES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


def wait_passively(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let threads that have no work sleep instead of spin, unless the user has said how they wait.

    OpenMP reads it when torch is loaded; later it would change nothing but programs started from
    here. A thread that spins keeps its core from the thread that it waits for where other programs
    run too: at a load of 4 on two cores `akgnn train` took 27.5 s with libgomp's own 300,000 rounds
    and 7.3 s asleep, with 1,000 rounds 7.8 s (`benchmarks/busy.py`). It concerns the whole process,
    so programs decide about it and not `import akgnn`.
    """
    if "torch" not in sys.modules and not any(name in environment for name in _NAMES):
        environment["OMP_WAIT_POLICY"] = "PASSIVE"
