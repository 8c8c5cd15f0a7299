"""The README's examples run, and what it links to is there."""

import re
from functools import partial
from pathlib import Path

import pytest

import akgnn

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", range(3))
def test_python_examples_run(number, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    teams = [f"p{k},{'red' if k < 20 else 'blue'},{k}" for k in range(40)]
    Path("people.csv").write_text("\n".join(["id,team,age", *teams]))
    pairs = [f"p{k},p{k + 1}" for k in range(39)]
    Path("friends.csv").write_text("\n".join(["source,target", *pairs]))
    monkeypatch.setattr(akgnn, "train", partial(akgnn.train, settings={"epochs": 2}))
    example = re.findall(r"```python\n(.*?)```", README, flags=re.S)[number]
    exec(compile(re.sub(r"(epochs\"?[=:] ?)200", r"\g<1>2", example), "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_every_linked_file_exists():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link
