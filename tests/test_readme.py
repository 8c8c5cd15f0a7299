"""The README's examples run, and its numbers stand in the records it names."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", range(2))
def test_python_examples_run(number, capsys):
    example = re.findall(r"```python\n(.*?)```", README, flags=re.S)[number]
    exec(compile(example.replace("epochs=200", "epochs=2"), "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_every_linked_file_exists():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_the_speeds_are_those_of_the_record():
    figures = json.loads((ROOT / "results" / "bench" / "epoch.json").read_text())["milliseconds"]
    for title, times in figures.items():
        for peer, value in times.items():
            if peer != "akgnn":
                digits = 0 if times["akgnn"] > 90 else 1
                cells = f"| {times['akgnn']:.{digits}f} ms | {value:.{digits}f} ms |"
                row = f"{cells} {value / times['akgnn']:.1f} |"
                assert row in README, f"{title}: {peer} {row}"
