"""Kill commands at random moments: do they go on to the same end, with nothing half-written?

    python tools/kills.py                    # 100 kills over all commands, a table of outcomes
    python tools/kills.py --only train       # of one kind
    python tools/kills.py --kills 20 --seed 3

The commands are in `kills_commands.py`. Each is run once without a kill; then again and again in
new folders, where it is killed once or several times before it may end: at a moment drawn evenly
over its time, before a file is opened, renamed or removed, or while a journal is there. Most kills
are SIGKILL; SIGINT and SIGTERM ask to stop, and want a line and status 1. After every kill all
files must be whole; in the end they and what is printed must be those of the run without a kill,
but for times and what the machine was doing, and no other file may be left. A command is run in a
copy of this process, which has imported all there is. Status 1 where anything is bad.
"""

import argparse
import json
import mmap
import os
import random
import shlex
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from kills_commands import COMMANDS, Command, make_inputs
from kills_outcomes import differences, half_written, lasting

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
os.environ["OMP_NUM_THREADS"] = "1"
_MOST_SECONDS = 300
_MOST_KILLS_A_TRY = 4
# What a choice says before it begins.
_SAID_BEFORE = "akgnn: Validation chooses among "
_SIGNALS = (signal.SIGKILL,) * 6 + (signal.SIGTERM, signal.SIGINT)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = ("os.rename", "os.remove", "os.mkdir")
# How many files a child opened to write, renamed or removed: memory that it shares with us.
_EVENTS = mmap.mmap(-1, 8)


class Ended(NamedTuple):
    """How a process ended."""

    status: int
    seconds: float
    shown: str
    said: str


@dataclass(frozen=True)
class Strike:
    """A signal and its moment.

    After so many seconds, and from then on once the file `watched` is there; or, where `event` is
    not -1, before that number of change to a file.
    """

    number: signal.Signals
    seconds: float = 0.0
    event: int = -1
    watched: str = ""


@dataclass(frozen=True)
class Whole:
    """A command that was not killed: its folder, how long it took, and what it printed."""

    folder: Path
    seconds: float
    events: int
    shown: Any


@dataclass
class Tally:
    """What came of all kills of one kind of command."""

    kills: int = 0
    tries: int = 0
    equal: int = 0
    faults: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, texts: list[str]) -> None:
        """Note faults of a kind, if there are any."""
        if texts:
            self.faults.setdefault(kind, []).append("; ".join(texts))
            print(f"  {kind}: {'; '.join(texts)[:1500]}", flush=True)

    def count(self, kind: str) -> int:
        """In how many tries there was this kind of fault."""
        return len(self.faults.get(kind, []))


def main() -> int:
    """Kill what is asked for; 1 where anything is bad."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    kinds = list(dict.fromkeys(command.kind for command in COMMANDS))
    parser.add_argument("--only", choices=kinds, action="append", help="repeatable")
    parser.add_argument("--kills", type=int, default=100, help="how many in all, at least")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    options = parser.parse_args()
    chosen = [command for command in COMMANDS if command.kind in (options.only or kinds)]
    tallies = {command.kind: Tally() for command in chosen}
    _import_everything()
    with tempfile.TemporaryDirectory(prefix="kills-") as temporary:
        folder = Path(temporary)
        make_inputs(folder / "inputs", _do)
        for number, command in enumerate(chosen):
            share = -(-options.kills * (number + 1) // len(chosen)) - sum(
                tally.kills for tally in tallies.values()
            )
            chance = random.Random(f"{options.seed} {command.run}")
            own = folder / f"command-{number}"
            own.mkdir()
            command = replace(command, run=command.run.replace("INPUTS", str(folder / "inputs")))
            _kill_often(command, own, share, chance, tallies[command.kind])
    return _show(tallies)


def _show(tallies: dict[str, Tally]) -> int:
    bad = ("differing", "leftovers", "half-written", "bad stops", "stuck")
    print(f"\n{'command':<10} {'kills':>5} {'tries':>5} {'equal':>5}", *(f"{b:>12}" for b in bad))
    for kind, tally in tallies.items():
        counts = (f"{tally.count(each):>12}" for each in bad)
        print(f"{kind:<10} {tally.kills:>5} {tally.tries:>5} {tally.equal:>5}", *counts)
    print(f"{sum(tally.kills for tally in tallies.values())} kills")
    return 1 if any(tally.faults for tally in tallies.values()) else 0


def _do(command: str, folder: Path) -> None:
    ended = run(command, folder, None)
    if ended.status:
        raise SystemExit(f"{command} ended with status {ended.status}: {ended.said}")


def _kill_often(
    command: Command, folder: Path, kills: int, chance: random.Random, tally: Tally
) -> None:
    """Kill a command at least so often, after it was run without a kill."""
    whole_folder = folder / "whole"
    whole_folder.mkdir()
    ended = run(command.run, whole_folder, None)
    if ended.status:
        raise SystemExit(f"{command.run} ended with status {ended.status}: {ended.said}")
    events = int.from_bytes(_EVENTS[:], "little")
    whole = Whole(whole_folder, ended.seconds, events, lasting(json.loads(ended.shown)))
    print(f"{command.run}: {ended.seconds:.1f} s, {events} changes of files", flush=True)
    goal = tally.kills + kills
    while tally.kills < goal:
        own = folder / f"try-{tally.tries}"
        own.mkdir()
        tally.tries += 1
        _one_try(command, own, whole, chance, tally)


def _one_try(
    command: Command, folder: Path, whole: Whole, chance: random.Random, tally: Tally
) -> None:
    """Kill a command in a folder once or several times, let it end, and judge what it left."""
    line, kills = command.run, 0
    wanted = chance.choice([1, 1, 1, 2, _MOST_KILLS_A_TRY])
    while True:
        strike = _draw(command, whole, chance) if kills < wanted else None
        ended = run(line, folder, strike)
        if strike is None or ended.status == 0:
            break
        kills += 1
        tally.add("bad stops", _stop_faults(command, strike, ended))
        tally.add("half-written", half_written(folder))
        line = _line_to_go_on(command, ended)
    tally.kills += kills
    if ended.status:
        tally.add("stuck", [f"{line}: status {ended.status}: {ended.said[-1500:]}"])
        return
    different, left = differences(whole.folder, folder)
    if (shown := lasting(json.loads(ended.shown))) != whole.shown:
        different.append(f"prints {str(shown)[:300]} and not {str(whole.shown)[:300]}")
    tally.add("differing", different)
    tally.add("leftovers", left)
    tally.equal += not different and not left


def _draw(command: Command, whole: Whole, chance: random.Random) -> Strike:
    number = chance.choice(_SIGNALS)
    seconds = chance.uniform(0, whole.seconds)
    how = chance.random()
    if how < 0.4:
        return Strike(number, event=chance.randrange(whole.events))
    return Strike(number, seconds, watched=command.watched if how < 0.6 else "")


def _line_to_go_on(command: Command, ended: Ended) -> str:
    """What the command said to go on with, or itself with what is added."""
    hinted = ended.said.partition("Go on with: ")[2].strip()
    return f"{hinted} --checkpoint-seconds 0 --json" if hinted else f"{command.run} {command.again}"


def _stop_faults(command: Command, strike: Strike, ended: Ended) -> list[str]:
    """What is wrong with how a command ended that was killed or asked to stop."""
    if strike.number == signal.SIGKILL:
        return [] if ended.status == -signal.SIGKILL else [f"status {ended.status}: {ended.said}"]
    # What is not training ends at SIGTERM as programs do.
    if strike.number == signal.SIGTERM and ended.status == -signal.SIGTERM and not ended.said:
        return []
    lines = [line for line in ended.said.strip().splitlines() if not line.startswith(_SAID_BEFORE)]
    is_told = len(lines) == 1 and (
        lines[0] == "akgnn: stopped." or any(hint in lines[0] for hint in command.hints)
    )
    is_right = ended.status == 1 and is_told
    name = strike.number.name
    return [] if is_right else [f"{name}: status {ended.status}: {ended.said[-1500:]!r}"]


def run(line: str, folder: Path, strike: Strike | None) -> Ended:
    """Run a command in a copy of this process, and strike it."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        pid = _fork(shlex.split(line), folder, out.fileno(), err.fileno(), strike)
        status = _wait(pid, folder, started, strike)
        seconds = time.monotonic() - started
        out.seek(0)
        err.seek(0)
        return Ended(status, seconds, out.read().decode(), err.read().decode())


def _wait(pid: int, folder: Path, started: float, strike: Strike | None) -> int:
    """Wait for the end, and strike once it is time; gives the status."""
    is_due = strike is not None and strike.event < 0
    while True:
        ended, code = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(code)
        passed = time.monotonic() - started
        if strike is not None and is_due and passed >= strike.seconds:
            if not strike.watched or (folder / strike.watched).exists():
                os.kill(pid, strike.number)
                is_due = False
            continue
        if passed > _MOST_SECONDS:
            os.killpg(pid, signal.SIGKILL)
        time.sleep(0.002)


def _fork(words: list[str], folder: Path, out: int, err: int, strike: Strike | None) -> int:
    """Run a command in a copy of this process; gives its id."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setsid()
        os.chdir(folder)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, stream in enumerate((os.open(os.devnull, os.O_RDONLY), out, err)):
            os.dup2(stream, number)
        _EVENTS[:] = bytes(8)
        _count_events(folder, strike)
        from akgnn.cli.main import main as command

        sys.argv = words
        status = command()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _count_events(folder: Path, strike: Strike | None) -> None:
    """Count what is opened to write, renamed or removed below a folder, and strike before it."""
    root = str(folder)

    def see(event: str, arguments: tuple[Any, ...]) -> None:
        is_write = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES
        if not (is_write or event in _CHANGES) or isinstance(arguments[0], int):
            return
        if not os.path.abspath(os.fsdecode(arguments[0])).startswith(root):
            return
        number = int.from_bytes(_EVENTS[:], "little")
        _EVENTS[:] = (number + 1).to_bytes(8, "little")
        if strike is not None and number == strike.event:
            os.kill(os.getpid(), strike.number)

    sys.addaudithook(see)


def _import_everything() -> None:
    import akgnn.cli.main
    import akgnn.experiments.runner
    import akgnn.export.export
    import akgnn.report.experiments_page
    import akgnn.report.run_page
    import akgnn.report.tuning_page
    import akgnn.runs.jobs
    import akgnn.tuning.search  # noqa: F401


if __name__ == "__main__":
    sys.exit(main())
