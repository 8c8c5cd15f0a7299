"""The README's examples run, and what it links to is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", range(3))
def test_python_examples_run(number, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = re.findall(r"```python\n(.*?)```", README, flags=re.S)[number]
    exec(compile(re.sub(r"(epochs\"?[=:] ?)200", r"\g<1>2", example), "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_every_linked_file_exists():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link
