"""Every exception and warning that akgnn raises on purpose, and help with misspelt names."""

from collections.abc import Iterable
from difflib import SequenceMatcher

# Names less alike than this are not asked about.
_LEAST_ALIKE = 0.5


class AkgnnError(Exception):
    """Root of everything raised on purpose; its message is meant for the user."""


class GraphError(AkgnnError, ValueError):
    """A graph or sparse matrix that is not well formed, or that an operation cannot take."""


class DataError(AkgnnError, ValueError):
    """Features, labels, splits or files that do not fit together."""


class SettingsError(AkgnnError, ValueError):
    """A setting outside its range or of the wrong type."""


class NoEffectError(SettingsError, ValueError):
    """A setting that has no effect with the others."""


class UnknownNameError(AkgnnError, LookupError):
    """A name that is not in a list of choices.

    Args:
        kind: What it is a name of.
        name: The name.
        choices: The names that there are.
        elsewhere: A sentence about who has this name.
    """

    def __init__(self, kind: str, name: str, choices: Iterable[str], elsewhere: str = "") -> None:
        hint = f"{elsewhere} {suggest(name, choices)}".lstrip()
        super().__init__(f"Unknown {kind} {name!r}. {hint}")


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


class LeftOutWarning(UserWarning):
    """Presets that validation does not compare, because a setting that was named does not fit."""

    def __init__(self, left_out: Iterable[str]) -> None:
        names = ", ".join(left_out)
        super().__init__(f"Not compared, as the settings that you named do not fit: {names}.")


class LookAlikeWarning(UserWarning):
    """Labels or categories that look alike, but count as different."""


def suggest(name: str, choices: Iterable[str]) -> str:
    """Ask whether the choice that is spelt alike was meant, if there is one, and list them all."""
    known = sorted(choices)
    return f"{did_you_mean(name, known)} Choose from {', '.join(known)}.".lstrip()


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """A question that names the choice spelt alike, after a space; empty where none is.

    It is the one that takes the fewest slips of the hand; of several the one most alike, then the
    one that starts alike.
    """
    # Whoever asks may have handed in something else than text.
    written = str(name).lower()
    matcher = SequenceMatcher(b=written)
    found = []
    for choice in sorted(choices):
        lower = choice.lower()
        matcher.set_seq1(lower)
        # The first two are bounds that take less time: tables may have thousands of columns.
        if (
            matcher.real_quick_ratio() >= _LEAST_ALIKE
            and matcher.quick_ratio() >= _LEAST_ALIKE
            and (alike := matcher.ratio()) >= _LEAST_ALIKE
        ):
            starts_otherwise = lower[:1] != written[:1]
            found.append((_slips(written, lower), -alike, starts_otherwise, choice))
    # With every other letter wrong it is another word.
    found = [each for each in found if each[0] <= max(1, len(written) // 2)]
    return f" Did you mean {min(found)[-1]!r}?" if found else ""


def _slips(one: str, other: str) -> int:
    """How many letters were left out, added, replaced, or swapped with the next."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, match in enumerate(other, 1):
            differs = letter != match
            least = min(last[column] + 1, line[-1] + 1, last[column - 1] + differs)
            is_swap = column > 1 and row > 1 and one[row - 2] == match
            if is_swap and letter == other[column - 2]:
                least = min(least, before[column - 2] + 1)
            line.append(least)
        before, last = last, line
    return last[-1]
