"""Bad folders of parts and bad starts, each in processes of its own that torchrun starts.

    python tools/bad_starts.py                # all cases, status 1 if any is bad
    python tools/bad_starts.py bit memory     # those with one of these words in their names

A case is bad unless every process says the same one line, which has the expected words, and ends
with the expected status, 2 for wrong use and 1 for a failure, within a minute.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
MOST_SECONDS = 60
PROCESSES = 3
VARIABLE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
# What torchrun starts: `akgnn`, with other words or less memory in one process.
WORKER = """
import os, resource, sys
from akgnn.cli.main import main
words = sys.argv[1:]
if os.environ["RANK"] == os.environ.get("BAD_RANK"):
    words += os.environ.get("BAD_WORDS", "").split()
    if "BAD_MIB" in os.environ:
        import torch
        import akgnn.runs.parted
        status = open("/proc/self/status").read()
        used = int(status.split("VmData:")[1].split()[0]) * 1024
        most = used + int(os.environ["BAD_MIB"]) * 2**20
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
sys.exit(main(words))
"""


@dataclass(frozen=True)
class Case:
    """Something that is wrong.

    Attributes:
        name: What it is.
        expected: Words of the line, a pattern.
        status: With which every process ends.
        spoil: Makes the folder of parts wrong.
        words: Further words of the command.
        processes: How many there are.
        environment: Further variables; `BAD_…` are for the worker.
        restarts: How often torchrun may start processes again.
    """

    name: str
    expected: str
    status: int = 2
    spoil: Callable[[Path], object] = lambda folder: None
    words: tuple[str, ...] = ()
    processes: int = PROCESSES
    environment: dict[str, str] = field(default_factory=dict)
    restarts: int = 0


def main() -> int:
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*")
    asked = parser.parse_args()
    number = bad = 0
    with TemporaryDirectory() as folder:
        base = Path(folder)
        _write_parts(base / "parts", "hash")
        _write_parts(base / "other", "order")
        for case in _cases(base):
            if asked.words and not any(word in case.name for word in asked.words):
                continue
            number += 1
            start = time.monotonic()
            wrong = _what_is_wrong(case, base)
            bad += wrong is not None
            seconds = time.monotonic() - start
            print(f"{'BAD' if wrong else 'ok '} {seconds:5.1f} s  {case.name}", flush=True)
            if wrong:
                print(f"    {wrong}", flush=True)
    print(f"{number} cases, {bad} bad.")
    return 1 if bad or not number else 0


def _cases(base: Path) -> Iterator[Case]:
    files = sorted((base / "parts" / "part-00000").iterdir())
    for index, file in enumerate(files):
        # Of another part each time, so that every process finds some.
        there = Path(f"part-{index % 6:05d}") / file.name
        yield Case(f"a bit of {there}", f"{file.name} is damaged or of", spoil=_flip(there))
    yield Case("a bit of parts.json", r"parts\.json is damaged", spoil=_flip(Path("parts.json")))
    yield Case(
        "a part is missing",
        "part-00003.*is missing",
        spoil=lambda folder: shutil.rmtree(folder / "part-00003"),
    )
    yield Case("a part of another cut", "of another cut", spoil=_mix(base / "other"))
    yield Case(
        "another version",
        "is of version '9'",
        spoil=lambda folder: _replace(folder / "parts.json", '"version": 1', '"version": 9'),
    )
    yield Case("more processes than parts", "6 parts are too few for 7 processes", processes=7)
    for rank in (0, 2):
        yield Case(
            f"process {rank} has another setting",
            "was started with another learning_rate",
            environment={"BAD_RANK": str(rank), "BAD_WORDS": "--set learning_rate=0.5"},
        )
        yield Case(
            f"process {rank} has no folder of parts",
            f"Process {rank}: nowhere is no folder of parts",
            environment={"BAD_RANK": str(rank), "BAD_WORDS": "--parts nowhere"},
        )
        for mebibytes in (80, 150):
            yield Case(
                f"process {rank} runs out of memory after {mebibytes} MiB",
                f"Process {rank}: .*out of memory",
                status=1,
                words=("--set", "hidden_channels=4096"),
                environment={"BAD_RANK": str(rank), "BAD_MIB": str(mebibytes)},
            )
    yield Case("the run's folder is taken", "holds other files", words=("--out", str(base)))
    yield Case(
        "restarts without the variable",
        f"start it as {VARIABLE}=1 torchrun",
        environment={VARIABLE: "0"},
        restarts=1,
    )
    yield Case(
        "a model that cannot be divided", "cannot be trained on parts", words=("--model=gat",)
    )


def _what_is_wrong(case: Case, base: Path) -> str | None:
    """Run a case; why it is bad, or None."""
    with TemporaryDirectory(dir=base) as folder:
        place = Path(folder)
        shutil.copytree(base / "parts", place / "parts")
        case.spoil(place / "parts")
        (place / "worker.py").write_text(WORKER)
        torchrun = [
            f"--nproc-per-node={case.processes}", f"--max-restarts={case.restarts}",
            "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--redirects=3",
            f"--log-dir={place / 'logs'}", str(place / "worker.py"),
        ]  # fmt: skip
        words = ["train", "--parts", str(place / "parts"), "--set", "epochs=400"]
        words += ["--timeout", "20", *case.words]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", VARIABLE: "1", **case.environment}
        environment["PYTHONPATH"] = str(ROOT / "src")
        command = [sys.executable, "-m", "torch.distributed.run", *torchrun, *words]
        try:
            ended = subprocess.run(
                command, env=environment, cwd=place, capture_output=True, timeout=MOST_SECONDS
            )
        except subprocess.TimeoutExpired:
            return f"It ran for more than {MOST_SECONDS} s."
        said = [file.read_text().strip() for file in sorted(place.glob("logs/**/stderr.log"))]
        # Torchrun's report has the status of every process.
        statuses = re.findall(r"exitcode  : (-?\d+)", ended.stderr.decode(errors="replace"))
        return _complaint(case, said, statuses)


def _complaint(case: Case, said: list[str], statuses: list[str]) -> str | None:
    number = case.processes * (1 + case.restarts)
    if len(said) != number or len(set(said)) != 1:
        return f"Processes said different things: {[text[-300:] for text in said]}"
    line = said[0]
    if "\n" in line or not line.startswith("akgnn: ") or not re.search(case.expected, line):
        return f"They said: {line}"
    if statuses != [str(case.status)] * case.processes:
        return f"They ended with {statuses}, not {case.status}, and said: {line}"
    return None


def _write_parts(folder: Path, cut: str) -> None:
    words = ["partition", "--dataset", "cora", "--parts", "6", "--cut", cut, "--out", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run(
        [sys.executable, "-m", "akgnn", *words],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
    )


def _flip(file: Path) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        content = bytearray((folder / file).read_bytes())
        content[len(content) * 2 // 3] ^= 1
        (folder / file).write_bytes(content)

    return spoil


def _mix(other: Path) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        shutil.rmtree(folder / "part-00004")
        shutil.copytree(other / "part-00004", folder / "part-00004")

    return spoil


def _replace(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text, f"{file} does not have {before}"
    file.write_text(text.replace(before, after))


if __name__ == "__main__":
    sys.exit(main())
