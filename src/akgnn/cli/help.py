"""What `--help` shows: whole sentences, options in groups, in the width of the terminal."""

import inspect
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

from akgnn.cli.layout import wrapped
from akgnn.cli.terminal import columns_of, painted
from akgnn.runs.request import DATA, MODEL, OUTPUT, TABLES, TRAINING

# Text is hard to read in longer lines; a file or a pipe has those of a small terminal.
_WIDEST, _OF_A_FILE = 100, 80
# Commands with fewer options show them in one group.
_MOST_TOGETHER = 12
_ALL, _OTHERS = "Options", "Other"


class Command(TyperCommand):
    """A command whose help is written here."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write("\n".join([*_opening(self, ctx), *_parameters(self, ctx)]))


class Group(TyperGroup):
    """All commands; the help lists each with the first sentence of its own."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        rows = [
            (name, " ".join(_paragraphs(command.help or "")[0].split()))
            for name, command in self.commands.items()
            if not command.hidden
        ]
        commands = _section("Commands", rows)
        formatter.write("\n".join([*_opening(self, ctx), *commands, *_parameters(self, ctx)]))


def _width() -> int:
    return min(columns_of(sys.stdout) or _OF_A_FILE, _WIDEST)


def _opening(command: Any, context: Any) -> list[str]:
    """How the command is called, and what it does."""
    pieces = " ".join(command.collect_usage_pieces(context))
    lines = wrapped(f"Usage: {context.command_path} {pieces}", _width(), 7)
    for paragraph in _paragraphs(command.help or ""):
        lines += ["", *wrapped(f"  {paragraph}", _width())]
    return lines


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n")]


def _parameters(command: Any, context: Any) -> list[str]:
    """Arguments, then options by their groups."""
    arguments: list[tuple[str, str]] = []
    groups: dict[str, list[tuple[str, str]]] = {}
    options = [each for each in command.get_params(context) if each.param_type_name == "option"]
    is_grouped = len(options) > _MOST_TOGETHER
    for parameter in command.get_params(context):
        row = parameter.get_help_record(context)
        if row is None:
            continue
        if parameter.param_type_name == "argument":
            arguments.append(row)
        else:
            panel = getattr(parameter, "rich_help_panel", None) or _OTHERS
            groups.setdefault(panel if is_grouped else _ALL, []).append(row)
    lines = _section("Arguments", arguments)
    for name in (_ALL, DATA, TABLES, MODEL, TRAINING, OUTPUT, _OTHERS):
        lines += _section(name, groups.get(name, []))
    return lines


def _section(heading: str, rows: Sequence[tuple[str, str]]) -> list[str]:
    """A heading with names and what they mean below it."""
    if not rows:
        return []
    width = _width()
    # A name that is longer stands on a line of its own.
    room = min(max(len(name) for name, _ in rows), width // 3)
    lines = ["", painted(f"{heading}:", "bold", sys.stdout)]
    for name, text in rows:
        lines += _row(name, text, room, width)
    return lines


def _row(name: str, text: str, room: int, width: int) -> Iterable[str]:
    if len(name) <= room:
        return wrapped(f"  {name:<{room}}  {text}".rstrip(), width, room + 4)
    return [f"  {name}", *wrapped(f"{'':<{room + 4}}{text}", width)]
