"""Every exception and warning that akgnn raises on purpose, and help with misspelt names."""

from collections.abc import Iterable
from difflib import get_close_matches


class AkgnnError(Exception):
    """Root of everything raised on purpose; its message is meant for the user."""


class GraphError(AkgnnError, ValueError):
    """A graph or sparse matrix that is not well formed, or that an operation cannot take."""


class DataError(AkgnnError, ValueError):
    """Features, labels, splits or files that do not fit together."""


class SettingsError(AkgnnError, ValueError):
    """A setting outside its range or of the wrong type."""


class UnknownNameError(AkgnnError, LookupError):
    """A name that is not in a list of choices."""

    def __init__(self, kind: str, name: str, choices: Iterable[str]) -> None:
        super().__init__(f"Unknown {kind} {name!r}; {suggest(name, choices)}")


class DeviceError(AkgnnError, RuntimeError):
    """A device that this machine does not have."""


class MissingExtraError(AkgnnError, ImportError):
    """An optional package that is needed and not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package: pip install 'akgnn[{extra}]'")


class RunFolderError(AkgnnError, OSError):
    """A folder that cannot take a run: not writable, or in use by another run."""


class CheckpointError(AkgnnError, ValueError):
    """A run folder whose files are damaged, or were not written by akgnn."""


class ExportError(AkgnnError, RuntimeError):
    """A model that cannot be exported, or whose exported file gives other answers."""


class SpecError(AkgnnError, ValueError):
    """A file that describes an experiment and has a mistake in it."""


class DivergedError(AkgnnError, ArithmeticError):
    """Training whose loss stopped being a number."""


class OutOfMemoryError(AkgnnError, MemoryError):
    """Training that needs more memory than its device has."""


class FailedRunsError(AkgnnError, RuntimeError):
    """An experiment in which some runs failed; the others are kept."""


class InterruptedRunError(AkgnnError, RuntimeError):
    """Training that was asked to stop before it had finished."""


class AloneWarning(UserWarning):
    """New nodes that came without edges, so that a model has their columns alone to go by."""


def suggest(name: str, choices: Iterable[str]) -> str:
    """List the choices and, where one is spelt alike, ask whether it was meant."""
    known = sorted(choices)
    text = f"choose from {', '.join(known)}."
    by_lower_case = {choice.lower(): choice for choice in known}
    # Whoever asks may have handed in something else than text.
    alike = get_close_matches(str(name).lower(), by_lower_case, n=1, cutoff=0.5)
    return f"{text} Did you mean {by_lower_case[alike[0]]!r}?" if alike else text
