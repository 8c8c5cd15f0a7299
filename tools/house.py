"""The state of the house in numbers, so that two versions can be compared.

    python tools/house.py                      # this version
    python tools/house.py ../before/src src    # side by side

Everything is read from the source text, except the modules that `akgnn train` loads, for which the
command runs one epoch on Cora in a process of its own.
"""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PUTS_IN_PLACE = r"(temporary|written)\w*\.replace\(|os\.replace\(|os\.rename\("


@cache
def modules(src: Path) -> dict[str, ast.Module]:
    """Every module by its dotted name."""
    found = {}
    for file in sorted((src / "akgnn").rglob("*.py")):
        parts = file.relative_to(src).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(file.read_text(encoding="utf-8"))
    return found


@cache
def imports(src: Path, *, at_start: bool = False) -> dict[str, set[str]]:
    """The modules of the package that each module imports; without those for types only."""
    known = modules(src)
    return {name: set(_imported(tree, known, at_start)) - {name} for name, tree in known.items()}


def _imported(tree: ast.AST, known: dict[str, ast.Module], at_start: bool) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and at_start:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & set(known)
            yield from inner
            if node.module in known and len(inner) < len(node.names):
                yield node.module
        else:
            yield from _imported(node, known, at_start)


def one_importer(src: Path) -> int:
    """Modules, apart from packages, that exactly one other module imports."""
    counts = dict.fromkeys(modules(src), 0)
    for names in imports(src).values():
        for name in names:
            counts[name] += 1
    packages = {name.rpartition(".")[0] for name in counts}
    return sum(count == 1 for name, count in counts.items() if name not in packages)


def longest_chain(src: Path) -> int:
    """Modules in the longest chain of imports that happen when a module is loaded."""
    graph = imports(src, at_start=True)

    @cache
    def depth(name: str) -> int:
        return 1 + max((depth(other) for other in graph[name]), default=0)

    return max(depth(name) for name in graph)


def on_the_way_of_train(src: Path) -> int:
    """Modules in which `akgnn train` runs a function or method, packages' own files left out.

    Those that are only loaded, such as the other models behind the registry, do not count.
    """
    script = (
        "import sys\n"
        "seen = set()\n"
        "def look(frame, event, argument):\n"
        "    code = frame.f_code\n"
        # Bodies of modules and classes, which run when they are loaded, are not optimised code.
        "    if event == 'call' and code.co_flags & 1 and code.co_name[0] != '<':\n"
        "        seen.add(code.co_filename)\n"
        "sys.setprofile(look)\n"
        "from akgnn.cli.main import main\n"
        "main(['train', '--set', 'epochs=2'])\n"
        "sys.setprofile(None)\n"
        "files = {name for name in seen if not name.endswith('__init__.py')}\n"
        "print('\\n' + '\\n'.join(sorted(files)), file=sys.stderr)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(src), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True
    )
    done.check_returncode()
    return sum(line.startswith(str(src)) for line in done.stderr.splitlines())


def functions(src: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method."""
    for tree in modules(src).values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Number of parameters, without `self`."""
    given = node.args
    names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def places_with(src: Path, pattern: str) -> int:
    """Modules whose text matches."""
    files = (src / "akgnn").rglob("*.py")
    return sum(bool(re.search(pattern, file.read_text(encoding="utf-8"))) for file in files)


def callback_signatures(src: Path) -> int:
    """Different types of what is called after an epoch, as functions are annotated."""
    found = set()
    for node in functions(src):
        for argument in (*node.args.args, *node.args.kwonlyargs):
            if argument.arg == "after_epoch" and argument.annotation is not None:
                text = ast.unparse(argument.annotation).replace(" | None", "").strip("'\"")
                found.add(text)
        if node.name == "after_epoch":
            types = [a.annotation for a in node.args.args if a.annotation]
            found.add(", ".join(map(ast.unparse, types)))
    return len(found)


def table(src: Path) -> dict[str, int]:
    """All numbers of one version."""
    src = src.resolve()
    packages = {name.rpartition(".")[0] for name in modules(src)}
    long = [node for node in functions(src) if length(node) > 50]
    longest = max(functions(src), key=length)
    lines = sum(
        len(file.read_text(encoding="utf-8").splitlines()) for file in (src / "akgnn").rglob("*.py")
    )
    return {
        "modules": sum(name not in packages for name in modules(src)),
        "lines": lines,
        "modules with one importer": one_importer(src),
        "longest chain of imports": longest_chain(src),
        "modules on the way of `akgnn train`": on_the_way_of_train(src),
        "functions over 50 lines": len(long),
        "lines of the longest": length(longest),
        "parameters of the longest": parameters(longest),
        "most parameters": max(map(parameters, functions(src))),
        "modules that put a file in place": places_with(src, _PUTS_IN_PLACE),
        "modules that read JSON": places_with(src, r"json\.loads?\("),
        "types of after_epoch": callback_signatures(src),
    }


def main() -> None:
    """Print one column a version."""
    sources = [Path(text) for text in sys.argv[1:]] or [ROOT / "src"]
    columns = [table(src) for src in sources]
    for name in columns[0]:
        print(f"{name:40}" + "".join(f"{column[name]:>10}" for column in columns))


if __name__ == "__main__":
    main()
