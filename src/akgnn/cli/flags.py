"""Errors name settings, as Python writes them; here they become the flags of a command.

A message writes a setting in backticks: `unknown_ids='drop'`, or its name alone.
"""

import ast
import re
from collections.abc import Mapping
from shlex import quote

from akgnn.report.values import value_text

_SETTING = re.compile(r"`(\w+)(?:=([^`]*))?`")


def in_flags(message: str, flags: Mapping[str, set[str]], command: str) -> str:
    """A message with the flags of a command in place of settings.

    What the command, which raised it, cannot be told but `akgnn train` can is said so. What no
    command can be told, and other words in backticks, stay as they are. `flags` has all flags of
    each command, such as `--out`.
    """

    def translated(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        flag = f"--{name.replace('_', '-')}"
        if flag in flags.get(command, set()):
            return flag + _as_argument(value)
        if flag in flags["train"]:
            return f"akgnn train {flag}{_as_argument(value)}"
        if value is not None and "--set" in flags.get(command, set()):
            return f"--set {name}={_plain(value)}"
        return found[0]

    return _SETTING.sub(translated, message)


def _as_argument(value: str | None) -> str:
    if value is None or value == "True":
        return ""
    return f" {quote(_plain(value))}"


def _plain(value: str) -> str:
    """A value as the command line writes it."""
    try:
        plain = ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return value
    return value_text(plain)
