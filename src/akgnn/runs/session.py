"""How jobs are run, whatever they train: what is kept meanwhile, and who looks on."""

from collections.abc import Sequence
from dataclasses import dataclass

from akgnn.training.callbacks import Callback


@dataclass(frozen=True, kw_only=True)
class Session:
    """How jobs are run.

    Attributes:
        resume: Whether to go on where a run's folder left off, or to return its result if it has
            finished.
        checkpoint_seconds: Seconds between two snapshots of a run that has a folder.
        callbacks: Callbacks of every epoch, with the index of the model among all that train. If
            one stops the training, the snapshots are kept and all runs end with
            `InterruptedRunError`.
    """

    resume: bool = False
    checkpoint_seconds: float = 5.0
    callbacks: Sequence[Callback] = ()
