"""Wrong and hostile inputs, each in a process of its own: is every one of them told in a line?

    python tools/hostile.py                 # all cases, a table of outcomes, status 1 if any is bad
    python tools/hostile.py json pipe       # those with one of these words in their names
    python tools/hostile.py --list

The cases are in `hostile_cases.py`. Each has a folder of its own, a copy of one with good tables
and good runs, in which something is made wrong. A case is bad where a process ends by a signal or
with a traceback, runs for too long, takes too much memory, ends with another status than it should,
says nothing or more than a line, prints control characters, or leaves files behind.

A process is a copy of this one, which has imported all there is; where a shell or an environment is
part of the case, and with --fresh always, it is a new interpreter, which takes longer.
"""

import argparse
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from hostile_cases import CASES, Case, make_base

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))
# Commands start themselves in other processes, which have to find this source from any folder.
os.environ |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
MOST_SECONDS, MOST_MIB = 60, 1024
# Beyond this a process is ended, for the sake of the machine.
KILL_MIB = 3 * 1024
# What a command says of the data before it works, beside the line about what went wrong.
_REMARKS = ("akgnn: Every edge weighs 1;", "akgnn: Validation chooses among ")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SHIMS = {
    "akgnn": 'exec "$HOSTILE_PYTHON" -m akgnn "$@"',
    "python": 'exec "$HOSTILE_PYTHON" "$@"',
    # Python code as a user writes it; an error raised on purpose is shown as the command does.
    "api": 'exec "$HOSTILE_PYTHON" "$HOSTILE_API" "$@"',
}
_API = """
import sys
from akgnn.errors import AkgnnError
try:
    exec(sys.argv[1])
except AkgnnError as error:
    print(str(error).encode("unicode_escape").decode(), file=sys.stderr)
    sys.exit(2)
"""


@dataclass(frozen=True)
class Outcome:
    """What came of a case; `faults` is empty where all is well."""

    case: Case
    status: int
    seconds: float
    mib: float
    last_line: str
    faults: tuple[str, ...]


def main() -> int:
    """Run the cases asked for; 1 where any of them is bad."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="run only cases with one of these in their names")
    parser.add_argument("--list", action="store_true", help="name the cases and run none")
    parser.add_argument("--fresh", action="store_true", help="a new interpreter for each case")
    parser.add_argument("--verbose", action="store_true", help="show all that bad cases print")
    options = parser.parse_args()
    names = [case.name for case in CASES]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        parser.error(f"two cases have the name {min(twice)!r}")
    chosen = [
        case for case in CASES if not options.words or any(w in case.name for w in options.words)
    ]
    if options.list:
        print("\n".join(f"{case.name}: {case.run}" for case in chosen))
        return 0
    with tempfile.TemporaryDirectory(prefix="hostile-") as temporary:
        return _run_all(chosen, Path(temporary), fresh=options.fresh, verbose=options.verbose)


def _run_all(cases: list[Case], folder: Path, *, fresh: bool, verbose: bool) -> int:
    environment = _environment(folder)
    if not fresh:
        _import_everything()
    base = folder / "base"
    base.mkdir()
    make_base(base, environment)
    print(f"{'case':<52} {'status':>6} {'s':>5} {'MiB':>5}  last line")
    bad = []
    for number, case in enumerate(cases):
        own = folder / f"case-{number}"
        shutil.copytree(base, own, symlinks=True)
        outcome = run_case(case, own, environment, fresh=fresh, verbose=verbose)
        mark = "" if not outcome.faults else f"  <<< {'; '.join(outcome.faults)}"
        print(
            f"{case.name[:52]:<52} {outcome.status:>6} {outcome.seconds:>5.1f} {outcome.mib:>5.0f}"
            f"  {outcome.last_line[:110]}{mark}",
            flush=True,
        )
        if outcome.faults:
            bad.append(case.name)
        _remove(own)
    print(f"{len(cases)} cases, {len(bad)} bad{': ' if bad else ''}{', '.join(bad)}")
    return 1 if bad else 0


def run_case(
    case: Case, folder: Path, environment: dict[str, str], *, fresh: bool, verbose: bool
) -> Outcome:
    """Make the case in its folder, run it there, and judge what came of it."""
    case.make(folder)
    before = _files(folder)
    started = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        words = None if fresh or case.environment else _plain_words(case.run)
        if words is None:
            process = subprocess.Popen(
                ["/bin/bash", "-c", case.run],
                cwd=folder,
                env={**environment, **case.environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            pid = process.pid
        else:
            pid = _fork(words, folder, out.fileno(), err.fileno())
        status, mib, why = _wait(pid, started)
        seconds = time.monotonic() - started
        out.seek(0)
        err.seek(0)
        shown, said = out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace")
    faults = [*why, *_faults(case, status, mib, shown, said)]
    left = sorted(name for name in _files(folder) - before if not _may_stay(name, case, status))
    if left:
        faults.append(f"left {', '.join(left[:3])}")
    if faults and verbose:
        print(f"--- {case.name}: {case.run}\n{shown[-1500:]}\n{said[-3000:]}\n---")
    lines = (said.strip() or shown.strip()).splitlines() or [""]
    last_line = _CONTROL.sub("?", lines[-1]).replace(str(folder), ".")
    return Outcome(case, status, seconds, mib, last_line, tuple(faults))


def _plain_words(command: str) -> list[str] | None:
    """The words of a command; None where it takes a shell to understand it."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    is_plain = words[0] in ("akgnn", "api") and "$" not in command
    return (
        words
        if is_plain and not any(set(word) <= set(";&|<>()") and word for word in words)
        else None
    )


def _fork(words: list[str], folder: Path, out: int, err: int) -> int:
    """Run a command in a copy of this process; gives its id."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setsid()
        os.chdir(folder)
        for number, stream in enumerate((os.open(os.devnull, os.O_RDONLY), out, err)):
            os.dup2(stream, number)
        if words[0] == "akgnn":
            from akgnn.cli.main import main as command

            sys.argv = words
            status = command()
        else:
            sys.argv = words
            exec(_API, {"__name__": "__main__"})
            status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _import_everything() -> None:
    import akgnn.cli.main
    import akgnn.data.convert
    import akgnn.estimator.classifier
    import akgnn.export.export
    import akgnn.report.run_page
    import akgnn.runs.jobs  # noqa: F401


def _wait(pid: int, started: float) -> tuple[int, float, list[str]]:
    """Wait for the end, or end it; the status, the most memory in MiB, and why it was ended."""
    why: list[str] = []
    while True:
        ended, code, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(code), usage.ru_maxrss / 1024, why
        is_late = time.monotonic() - started > MOST_SECONDS
        if (is_late or _group_mib(pid) > KILL_MIB) and not why:
            why.append("hangs" if is_late else "takes all memory")
            os.killpg(pid, signal.SIGKILL)
        time.sleep(0.05)


def _faults(case: Case, status: int, mib: float, shown: str, said: str) -> list[str]:
    faults = []
    if status < 0 or status >= 126:
        faults.append(f"signal or crash {status}")
    elif status not in case.status:
        faults.append(f"status {status}, not {' or '.join(map(str, sorted(case.status)))}")
    if mib > MOST_MIB:
        faults.append(f"{mib:.0f} MiB")
    if "Traceback" in said or "Exception ignored" in said:
        faults.append("traceback")
    lines = said.strip("\n").split("\n") if said.strip() else []
    lines = [line for line in lines if not line.startswith(_REMARKS)]
    if status and not lines and not case.is_silent:
        faults.append("says nothing")
    if len(lines) > case.lines:
        faults.append(f"{len(lines)} lines")
    if lines and max(map(len, lines)) > 1500:
        faults.append("a very long line")
    if _CONTROL.search(said) or _CONTROL.search(shown):
        faults.append("control characters")
    if case.says not in said + shown:
        faults.append(f"does not say {case.says!r}")
    return faults


def _files(folder: Path) -> set[str]:
    """Files and folders as they are now, by their path from the folder."""
    return {
        str(Path(parent, name).relative_to(folder))
        for parent, folders, files in os.walk(folder)
        for name in (*folders, *files)
    }


def _may_stay(name: str, case: Case, status: int) -> bool:
    # What succeeded may leave what it was asked for, but nothing under a temporary name.
    is_temporary = Path(name).name.startswith(".tmp-")
    is_asked_for = any(name == part or name.startswith(f"{part}/") for part in case.leaves)
    return not is_temporary and (status == 0 or is_asked_for)


def _group_mib(group: int) -> float:
    """The resident memory of all processes of a group."""
    total = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            total += int(fields[21])
    return total * resource.getpagesize() / 2**20


def _environment(folder: Path) -> dict[str, str]:
    bin_ = folder / "bin"
    bin_.mkdir()
    for name, text in _SHIMS.items():
        (bin_ / name).write_text(f"#!/bin/sh\n{text}\n")
        (bin_ / name).chmod(0o755)
    (folder / "api.py").write_text(_API)
    return {
        **os.environ,
        "PATH": f"{bin_}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "OMP_NUM_THREADS": "1",
        "HOSTILE_PYTHON": sys.executable,
        "HOSTILE_API": str(folder / "api.py"),
    }


def _remove(folder: Path) -> None:
    subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
