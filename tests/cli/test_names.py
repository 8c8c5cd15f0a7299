import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from akgnn.cli import names
from akgnn.cli.main import app
from akgnn.data.catalogue import BUNDLED, FILTERED, GENERATED
from akgnn.data.published import PYG_SOURCES
from akgnn.models.registry import MODELS
from akgnn.runs.presets import list_presets


def test_the_names_are_those_that_commands_go_by():
    assert names.dataset_names() == [*BUNDLED, *GENERATED, *FILTERED, *PYG_SOURCES]
    own = [name for name, entry in MODELS.items() if entry.presets is None]
    assert names.model_names() == sorted(own)
    for name in own:
        asked = SimpleNamespace(params={"model": name})
        assert names.preset_names(asked) == list(list_presets(name))


@pytest.mark.parametrize("model", ["auto", "gcm", "../akgnn"])
def test_an_unknown_model_has_no_presets(model):
    assert names.preset_names(SimpleNamespace(params={"model": model})) == []


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("akgnn tr", ["train"]),
        ("akgnn train --dataset citat", []),
        ("akgnn train --dataset pub", ["pubmed"]),
        ("akgnn train --model a", ["auto", "akgnn", "appnp"]),
        ("akgnn train --model gcn --preset ", ["paper", "any-graph", "tuned"]),
        ("akgnn models ss", ["ssgc"]),
        ("akgnn reproduce spl", ["splits"]),
        ("akgnn tune --tri", ["--trials"]),
    ],
)
def test_a_shell_completes(words, completed, capsys, monkeypatch):
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    monkeypatch.setenv("_AKGNN_COMPLETE", "complete_bash")
    with pytest.raises(SystemExit, match="0"):
        app(prog_name="akgnn", args=[])
    assert capsys.readouterr().out.split() == completed


def test_completion_does_not_load_torch():
    code = (
        "import sys\nfrom akgnn.cli.main import main\n"
        "try:\n    main([])\nexcept SystemExit:\n    print('torch' in sys.modules)"
    )
    asked = {"COMP_WORDS": "akgnn train --preset p", "COMP_CWORD": "3"}
    environment = {**os.environ, **asked, "_AKGNN_COMPLETE": "complete_bash"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["paper", "False"], done.stderr
