"""What messages say of flags: the translation, and every text in the source that mentions one."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import akgnn
from akgnn.cli.flags import in_flags
from akgnn.cli.main import flags_of_commands
from akgnn.models.registry import MODELS
from akgnn.runs.presets import default_settings
from akgnn.training.strategies.registry import STRATEGIES

SOURCE = Path(akgnn.__file__).parent
CLI = SOURCE / "cli"
FLAGS = flags_of_commands()
SHARED = sorted({file.stem for file in CLI.glob("*.py")} - set(FLAGS) - {"__init__", "main"})
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
SETTING = re.compile(r"`\w+(?:=[^`]*)?`")
# Stands for what a text in the source takes from its surroundings.
HOLE = "…"
# Where whole command lines are written, for readers or for another program.
COMMAND_LINES = {
    ("experiments/spec.py", "command"): "akgnn train",
    ("report/experiments_page.py", "experiments_page"): "akgnn reproduce",
    ("report/table_data.py", "details"): "akgnn train",
    ("machine/provenance.py", "_git_commit"): "git",
}
# Words in backticks that are no settings: folders.
WORDS = {"`filtered`", "`processed`"}
# Settings in backticks whose names are put together where they are raised.
PUT_TOGETHER = [
    "`nodes`", "`edges`", "`seeds`", "`folds`", "`hidden_channels=8`", "`num_layers=1`",
    "`recompute=True`",
]  # fmt: skip


@pytest.mark.parametrize(
    ("message", "command", "expected"),
    [
        ("with `unknown_ids='drop'`.", "train", "with --unknown-ids drop."),
        ("with `unknown_ids='drop'`.", "predict", "with --unknown-ids drop."),
        ("with `unknown_ids='drop'`.", "tune", "with --unknown-ids drop."),
        ("with `unknown_ids='drop'`.", "inspect", "with akgnn train --unknown-ids drop."),
        ("`edges` needs `nodes`.", "predict", "--edges needs --nodes."),
        ("`resume=True` goes on", "train", "--resume goes on"),
        ("`resume=True` goes on", "explain", "akgnn train --resume goes on"),
        ("`columns='!my column'`", "train", "--columns '!my column'"),
        ("`columns=not a literal`", "train", "--columns 'not a literal'"),
        ("`hidden_channels=8` or", "train", "--set hidden_channels=8 or"),
        ("`recompute=True` or", "tune", "--set recompute=true or"),
        ("`patience=None` or", "train", "--set patience=none or"),
        ("`hidden_channels=8` or", "report", "`hidden_channels=8` or"),
        ("its folder `processed`", "train", "its folder `processed`"),
        ("`make bench` adds some", "train", "`make bench` adds some"),
        ("`out` is missing", "", "akgnn train --out is missing"),
        ("nothing to say", "no-command", "nothing to say"),
    ],
)
def test_settings_become_the_flags_of_the_command(message, command, expected):
    assert in_flags(message, FLAGS, command) == expected


def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def texts(tree: ast.AST, *, docstrings: bool) -> Iterator[str]:
    """Every text under a node, an f-string as one."""
    seen: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and not docstrings:
            seen.add(node.value)
        if isinstance(node, ast.JoinedStr):
            parts = [part for part in node.values if isinstance(part, ast.Constant)]
            seen.update(parts)
            yield "".join(part.value if part in parts else HOLE for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in seen:
            yield node.value


def mentioned(text: str, command: str) -> Iterator[tuple[str, str]]:
    """Flags in a text, each with the command that its sentence or quotation names before it."""
    named = command
    for found in re.finditer(rf"akgnn (\w+)|({FLAG.pattern})|[.;]\s|\n\n|`", text):
        if found[2]:
            yield named, found[2]
        else:
            named = found[1] if found[1] in FLAGS else command


def unknown(text: str, command: str) -> list[tuple[str, str]]:
    """Flags in a text that the command it speaks of does not have."""
    return [(name, flag) for name, flag in mentioned(text, command) if flag not in FLAGS[name]]


def test_a_flag_of_another_command_is_found():
    assert unknown("Write it with akgnn tune --trials 3 --dataset cora.", "train") == []
    assert unknown("--trials says how many.", "train") == [("train", "--trials")]
    assert unknown("See `akgnn models`; --model names one.", "report") == [("report", "--model")]


def is_command_line(file: Path, function: ast.AST) -> bool:
    name = getattr(function, "name", "")
    return (file.relative_to(SOURCE).as_posix(), name) in COMMAND_LINES


@cache
def outside_cli() -> list[tuple[str, str]]:
    """Every text outside the command line that is no documentation, with its file."""
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        if CLI in file.parents:
            continue
        tree = parsed(file)
        for node in ast.walk(tree):
            for _, value in ast.iter_fields(node):
                if isinstance(value, list):
                    value[:] = [item for item in value if not is_command_line(file, item)]
        name = file.relative_to(SOURCE).as_posix()
        found += [(name, text) for text in texts(tree, docstrings=False)]
    return found


def test_nobody_but_the_command_line_speaks_of_flags():
    assert [place for place in outside_cli() if FLAG.search(place[1])] == []


@pytest.mark.parametrize(("place", "program"), COMMAND_LINES.items())
def test_command_lines_for_readers_have_flags_that_there_are(place, program):
    path, name = place
    (function,) = [n for n in ast.walk(parsed(SOURCE / path)) if getattr(n, "name", "") == name]
    written = list(texts(function, docstrings=False))
    assert any(FLAG.search(text) for text in written)
    if program != "git":
        command = program.removeprefix("akgnn ")
        assert [unknown(text, command) for text in written if unknown(text, command)] == []


@pytest.mark.parametrize("command", FLAGS)
def test_a_command_speaks_of_flags_that_it_has(command):
    written = texts(parsed(CLI / f"{command}.py"), docstrings=True)
    assert [(text, wrong) for text in written if (wrong := unknown(text, command))] == []


def top_level(tree: ast.Module) -> dict[str, ast.AST]:
    """The functions, classes and values of a module by name."""
    found: dict[str, ast.AST] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            found |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
    return found


def names_in(tree: ast.AST) -> set[str]:
    """Every name and attribute that a piece of code uses."""
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return named | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def used_by(command: str, module: str, parts: dict[str, ast.AST]) -> set[str]:
    """What a command uses of a shared module, with what that uses there itself."""
    tree = parsed(CLI / f"{command}.py")
    imported = {
        alias.name
        for n in ast.walk(tree)
        if isinstance(n, ast.ImportFrom)
        for alias in n.names
        if n.module in ("akgnn.cli", f"akgnn.cli.{module}")
    }
    reached: set[str] = set()
    new = parts.keys() & (names_in(tree) if module in imported else imported)
    while new:
        reached |= new
        new = {name for part in new for name in parts.keys() & names_in(parts[part])} - reached
    return reached


@pytest.mark.parametrize("module", SHARED)
def test_what_commands_share_speaks_of_flags_that_they_all_have(module):
    parts = top_level(parsed(CLI / f"{module}.py"))
    users = {command: used_by(command, module, parts) for command in FLAGS}
    if module == "flags":
        # It looks up what a command has before it speaks of it.
        users = {"train": set(parts)}
    wrong = [
        (name, text, found)
        for command, names in users.items()
        for name in names
        for text in texts(parts[name], docstrings=False)
        if (found := unknown(text, command))
    ]
    assert wrong == []


def test_what_commands_share_is_found():
    parts = top_level(parsed(CLI / "options.py"))
    assert used_by("datasets", "options", parts) == set()
    assert {"check_range", "option", "AsJson"} <= used_by("tune", "options", parts)
    assert "RunFolderArgument" not in used_by("tune", "options", parts)
    shown = top_level(parsed(CLI / "show.py"))
    shared = {"print_json", "print_table", "_printable_cell"}
    assert used_by("datasets", "show", shown) == shared


def settings_in_messages() -> list[str]:
    found = {setting for _, text in outside_cli() for setting in SETTING.findall(text)}
    return [*sorted(found - WORDS), *PUT_TOGETHER]


def names_of_settings() -> set[str]:
    """The settings of all models, of training and of all strategies."""
    kinds = [kind for model in MODELS for kind in default_settings(model).to_dict().values()]
    of_strategies = [choice.settings().to_dict() for choice in STRATEGIES.values()]
    return {name for kind in [*kinds, *of_strategies] for name in kind}


def test_settings_in_messages_are_settings():
    """Each is a flag of some command, or a setting that `--set` takes; so none is misspelt."""
    found = settings_in_messages()
    assert {"`unknown_ids='drop'`", "`data_root`", "`force=True`", f"`columns={HOLE}`"} <= set(
        found
    )
    flags = set().union(*FLAGS.values())
    names = names_of_settings()
    for setting in found:
        name = setting.strip("`").partition("=")[0]
        assert f"--{name.replace('_', '-')}" in flags or name in names, setting


@pytest.mark.parametrize("command", FLAGS)
def test_settings_in_messages_become_flags_that_the_command_has(command):
    for setting in settings_in_messages():
        text = in_flags(f"Say {setting} here.", FLAGS, command)
        assert unknown(text, command) == [], setting
        if "`" in text:
            # It stays only where neither this command nor `train` has a flag for it.
            assert command != "train" or setting == "`spec`"
