"""Standard output and error: their width and colours, letters they lack, and streams that fail."""

import codecs
import io
import os
import sys
from contextlib import suppress
from typing import TextIO

from rich.console import Console

from akgnn.cli.layout import wrapped
from akgnn.text import printable as printable

# What stands for letters that an encoding such as ASCII lacks; others become question marks.
_LETTERS = {
    "λ": "lambda", "μ": "mu", "τ": "tau", "φ": "phi", "γ": "gamma", "Σ": "sum",
    "±": "+/-", "−": "-", "–": "-", "—": "-", "·": "-", "×": "x", "²": "^2", "√": "sqrt",
    "…": "...", "→": "->", "≤": "<=", "≥": ">=", "‘": "'", "’": "'", "“": '"', "”": '"',
    "█": "#", "▌": ":", "▐": ":", "│": "|",
}  # fmt: skip
_PLAIN_LETTERS = "akgnn-plain-letters"
_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33"}
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


def complain(message: str, style: str = "yellow") -> None:
    """Say one line on standard error, as long as that takes anything.

    Args:
        message: What there is to say.
        style: That of the program's name before it: yellow for a hint, red for an error.
    """
    line = printable(message)
    if len(line) > _LONGEST:
        half = _LONGEST // 2
        line = f"{line[:half]} … ({len(line) - 2 * half:,} characters left out) … {line[-half:]}"
    first, *others = wrapped(f"akgnn: {line}", columns_of(sys.stderr), 2)
    first = first.replace("akgnn:", painted("akgnn:", style, sys.stderr), 1)
    try:
        print("\n".join([first, *others]), file=sys.stderr, flush=True)
    except OSError:
        give_up(sys.stderr)


def say(text: object = "", style: str = "", hang: int | None = None) -> None:
    """Print a line for people, wrapped to the width of the terminal.

    Args:
        text: The line; control characters, of a path for example, are escaped.
        style: How it is to be seen, such as `bold`.
        hang: Columns by which further lines are indented, if not given as the first.
    """
    for line in wrapped(printable(text), columns_of(sys.stdout), hang):
        print(painted(line, style, sys.stdout))


def columns_of(stream: TextIO) -> int | None:
    """The width of a terminal, or what the variable COLUMNS says; None of a file or a pipe."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    try:
        # A terminal that does not know its width says 0.
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None


def painted(text: str, style: str, stream: TextIO) -> str:
    """A text in a style where the stream is a terminal with colours and NO_COLOR is not set."""
    if not (style and text and _has_colours(stream)):
        return text
    return f"\x1b[{';'.join(_CODES[word] for word in style.split())}m{text}\x1b[0m"


def _has_colours(stream: TextIO) -> bool:
    """Whether rich, which draws the progress bars, would write colours to it."""
    console = Console(file=stream)
    return console.color_system not in (None, "windows") and not console.no_color


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
