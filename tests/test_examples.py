"""The scripts in examples/ run, from anywhere, and stay short."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHOWN = {
    "quickstart.py": (["3"], "layer 5: λ = "),
    "own_layer.py": (["3"], "λ by layer: "),
    "new_kernel.py": (["3"], "log: validation "),
    "many_seeds.py": (["3", "3"], "paired t-test p = "),
}


def test_every_example_is_run():
    assert sorted(SHOWN) == sorted(file.name for file in (ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_runs(name, tmp_path):
    arguments, shown = SHOWN[name]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", str(ROOT / "examples" / name), *arguments],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_is_short(name):
    lines = (ROOT / "examples" / name).read_text(encoding="utf-8").splitlines()
    assert len(lines) < 60
