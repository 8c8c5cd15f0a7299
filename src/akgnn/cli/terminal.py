"""Standard output and error: letters they lack, control characters, and streams that fail."""

import codecs
import io
import os
import sys
from contextlib import suppress
from typing import TextIO

from akgnn.text import printable as printable

# What stands for letters that an encoding such as ASCII lacks; others become question marks.
_LETTERS = {
    "λ": "lambda", "μ": "mu", "τ": "tau", "φ": "phi", "γ": "gamma", "Σ": "sum",
    "±": "+/-", "−": "-", "–": "-", "—": "-", "·": "-", "×": "x", "²": "^2", "√": "sqrt",
    "…": "...", "→": "->", "≤": "<=", "≥": ">=", "‘": "'", "’": "'", "“": '"', "”": '"',
}  # fmt: skip
_PLAIN_LETTERS = "akgnn-plain-letters"
# A message with more characters is cut; names that users give can be of any length.
_LONGEST = 1000


def prepare_streams() -> bool:
    """Let both streams take any text; false where standard output is closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Otherwise the next file that is opened would get this number, and what is printed.
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_PLAIN_LETTERS)
    return sys.stdout is not None


def complain(message: str) -> None:
    """Say one line on standard error, as long as that takes anything."""
    line = printable(message)
    if len(line) > _LONGEST:
        half = _LONGEST // 2
        line = f"{line[:half]} … ({len(line) - 2 * half:,} characters left out) … {line[-half:]}"
    try:
        print(f"akgnn: {line}", file=sys.stderr, flush=True)
    except OSError:
        give_up(sys.stderr)


def say(line: str) -> None:
    """Print a line that names what a user has named, a path for example."""
    print(printable(line))


def give_up(stream: TextIO) -> None:
    """Let what a stream still holds, and all that comes, go nowhere, so that the end is quiet."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _plain_letters(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_LETTERS.get(letter, "?") for letter in missing), error.end


codecs.register_error(_PLAIN_LETTERS, _plain_letters)
