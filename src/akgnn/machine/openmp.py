"""How OpenMP's threads wait for work; decided before torch is imported, so nothing here may."""

import os
import sys
from collections.abc import MutableMapping

_ROUNDS = "1000"
# What people set themselves to say how threads wait: the standard, GNU's and LLVM's own.
_NAMES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


def spin_briefly(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let threads that have no work sleep soon, unless the user has said how they wait.

    OpenMP reads it when torch is loaded; later it would change nothing but programs started from
    here. A thread that spins for long keeps its core from the thread that it waits for where other
    programs run too; one that sleeps at once wakes late. On two idle cores 1,000 rounds cost as
    good as nothing against libgomp's own 300,000, and sleeping at once 15 per cent
    (docs/performance.md). It concerns the whole process, so programs decide about it and not
    `import akgnn`.
    """
    if "torch" not in sys.modules and not any(name in environment for name in _NAMES):
        environment["GOMP_SPINCOUNT"] = _ROUNDS
