"""Every command, and much of what can go wrong, in terminals of 60, 80 and 120 columns."""

import re
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest
from rich.cells import cell_len

from akgnn.bench.cases import LayerPlan
from akgnn.cli.main import COMMANDS, main
from akgnn.data.catalogue import load_dataset
from akgnn.export.export import Exported
from bench_data import growth_case, layer_case
from worker_tasks import in_this_process

WIDTHS = (60, 80, 120)
# Wide enough for everything, so that nothing is wrapped.
WIDEST = 100_000
SPEC = """title = "How well two small models do on a graph that was generated for this test"
about = "A sentence that is longer than a narrow terminal is wide, so that it has to be wrapped."
datasets = ["csbm:num_nodes=60", "csbm:num_nodes=70", "csbm:num_nodes=80", "csbm:num_nodes=90"]
seeds = 2

[[rows]]
label = "SGC with a label of some length"
model = "sgc"
published = { "csbm:num_nodes=60" = 81.0 }
set = { epochs = 2 }

[[rows]]
label = "GCN"
model = "gcn"
set = { epochs = 2 }
"""
TOY = ["--dataset", "csbm:num_nodes=80,num_features=4", "--set", "epochs=3"]
SMALL = [*TOY, "--set", "hidden_channels=4"]
TABLES = ["--nodes", "people.csv", "--edges", "friends.csv", "--label", "team"]
SIZES = ["--num-nodes", "1e9", "--num-edges", "3e10", "--num-features", "9", "--num-classes", "3"]
TUNED = ["tune", *TOY, "--model", "mlp", "--trials", "2", "--out", "tuned"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with small runs of every kind."""
    place = tmp_path_factory.mktemp("widths")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr("akgnn.experiments.runner.share_out", in_this_process)
        Path("spec.toml").write_text(SPEC)
        teams = ("the red team", "a_blue_team_with_a_long_name")
        rows = [f"person-number-{k},{teams[k % 2]},{k},{k % 7}" for k in range(60)]
        Path("people.csv").write_text("\n".join(["id,team,age,height", *rows]))
        pairs = [f"person-number-{k},person-number-{(7 * k + 1) % 60},2" for k in range(60)]
        Path("friends.csv").write_text("\n".join(["source,target,weight", *pairs]))
        Path("new.csv").write_text("id,age,height\nx,3,4\ny,5,6\n")
        for words in (
            ["train", *SMALL, "--out", "run"],
            ["train", *SMALL, "--set", "num_layers=9", "--seeds", "2", "--out", "seeds"],
            ["train", *SMALL, "--folds", "2", "--out", "folds"],
            ["train", *SMALL, "--ensemble", "2", "--out", "ensemble"],
            ["train", *SMALL, "--kernel", "signed", "--set", "groups=2", "--out", "signed"],
            ["train", *TABLES, "--preset", "mixed-columns", "--set", "epochs=3", "--out", "own"],
            ["partition", "--cut", "hash", "--out", "parts"],
            ["reproduce", "spec.toml", "--out", "results", "--jobs", "1"],
            TUNED,
        ):
            assert main(words) == 0
    return place


@pytest.fixture(autouse=True)
def _same_each_time(folder, monkeypatch):
    """In the folder; what is slow, or takes another time each time, is not measured anew."""

    def measured(plan, repetitions, device):
        make = growth_case if plan.suite == "growth" else layer_case
        return make(plan.num_edges)

    def exported(model, data, file, form):
        return Exported(file, ("x", "edge_index", "edge_weight"), 12, 1.25e-7)

    monkeypatch.chdir(folder)
    monkeypatch.setattr(LayerPlan, "measure", measured)
    monkeypatch.setattr("akgnn.bench.run.gc.collect", lambda: 0)
    monkeypatch.setattr("akgnn.bench.record.write_record", lambda record, out: out / "bench.json")
    monkeypatch.setattr("akgnn.export.export.export_model", exported)
    monkeypatch.setattr("akgnn.data.catalogue.load_dataset", lru_cache(load_dataset))


def printed(words, columns, capsys, monkeypatch):
    """The lines of a command on both streams, and its status."""
    monkeypatch.setenv("COLUMNS", str(columns))
    status = main(words)
    captured = capsys.readouterr()
    return [*captured.out.splitlines(), *captured.err.splitlines()], status


def counted(lines):
    return Counter(word for line in lines for word in line.split())


WORKING = {
    "train, one run": ["train", "--out", "run", "--resume"],
    "train, seeds": ["train", "--seeds", "2", "--out", "seeds", "--resume"],
    "train, folds": ["train", "--folds", "2", "--out", "folds", "--resume"],
    "train, ensemble": ["train", "--out", "ensemble", "--resume"],
    "train, signed": ["train", "--out", "signed", "--resume"],
    "train, own tables": ["train", "--out", "own", "--resume"],
    "tune": TUNED,
    "predict": ["predict", "run", "--out", "predictions.csv"],
    "predict, new nodes": ["predict", "own", "--nodes", "new.csv", "--out", "predictions.csv"],
    "init": ["init", "mine.toml", "--force"],
    "inspect": ["inspect", "run"],
    "inspect, ensemble": ["inspect", "ensemble"],
    "inspect, signed": ["inspect", "signed"],
    "inspect, own tables": ["inspect", "own"],
    "explain": ["explain", "run", "3", "5"],
    "explain, signed": ["explain", "signed", "7", "--top", "30"],
    "explain, own tables": ["explain", "own", "person-number-3"],
    "explain, drawn": ["explain", "run", "3", "--out", "why.svg"],
    "partition": ["partition", "--parts", "64", "--cut", "order"],
    "partition, directed": ["partition", *TABLES, "--direction", "kept", "--cut", "hash"],
    "inspect, parts": ["inspect", "parts"],
    "plan": ["plan", "parts", "--processes", "8", "--network", "1Gbit/s"],
    "plan, sizes": ["plan", *SIZES, "--processes", "64", "--cut", "random", "--memory", "8GB"],
    "export": ["export", "run", "--out", "model.pt2"],
    "reproduce": ["reproduce", "spec.toml", "--out", "results"],
    "report": ["report", "run", "--out", "page.html"],
    "bench": ["bench", "layer", "--edges", "1e3", "--out", "bench"],
    "bench growth": ["bench", "growth", "--edges", "1e4,1e5,1e6", "--out", "bench"],
    "datasets": ["datasets"],
    "models": ["models"],
    "models gcn": ["models", "gcn"],
    "help": ["--help"],
    **{f"{command.__name__} --help": [command.__name__, "--help"] for command in COMMANDS},
}
FAILING = {
    "unknown model": ["train", "--model", "gcm"],
    "unknown data set": ["train", "--dataset", "corra"],
    "unknown setting": ["train", "--set", "num_layer=3"],
    "unknown command": ["trian"],
    "unknown option": ["train", "--sede", "3"],
    "no run": ["predict", "nothing"],
    "taken": ["train", *TOY, "--out", "run"],
    "folds and split": ["train", "--folds", "3", "--split", "60/20/20"],
    "another run": ["train", "--out", "run", "--resume", "--set", "num_layers=7"],
    "bad column": ["train", *TABLES[:4], "--label", "teem"],
    "unknown node": ["explain", "run", "4711"],
    "neither": ["report", "."],
    "unknown experiment": ["reproduce", "tabel1"],
    "parts taken": ["partition", "--cut", "order", "--out", "parts"],
    "more parts than nodes": ["partition", *TABLES, "--cut", "order", "--parts", "61"],
    "bad mesh": ["plan", *SIZES, "--processes", "8", "--mesh", "3x2"],
    "bad units": ["plan", *SIZES, "--network", "5 parsecs"],
    "bad sizes": ["bench", "layer", "--edges", "1e4,x"],
}


def test_no_command_is_missing():
    names = {words[0] for words in WORKING.values() if "--help" not in words}
    assert names == {command.__name__ for command in COMMANDS}


@pytest.mark.parametrize("case", [*WORKING, *FAILING])
def test_no_line_is_too_wide_and_no_word_is_broken(case, capsys, monkeypatch):
    words = {**WORKING, **FAILING}[case]
    # The first one may be another: it says what it has trained or written.
    printed(words, WIDEST, capsys, monkeypatch)
    whole, status = printed(words, WIDEST, capsys, monkeypatch)
    assert status == (0 if case in WORKING else 2)
    assert whole
    for width in WIDTHS:
        lines, same = printed(words, width, capsys, monkeypatch)
        assert same == status
        # A word of its own line, such as a path, may be longer than any line.
        assert [line for line in lines if cell_len(line) > width and len(line.split()) > 1] == []
        found, expected = counted(lines), counted(whole)
        # No piece of a word; and none is lost, though headings may be repeated.
        assert set(found) <= set(expected)
        assert not expected - found


@pytest.mark.parametrize("width", WIDTHS)
def test_settings_that_do_not_fit_side_by_side_are_whole(width, capsys, monkeypatch):
    def values_in(lines):
        return {word for line in lines for word in re.split(r"[\s=,]+", line)}

    whole, _ = printed(["models", "akgnn"], WIDEST, capsys, monkeypatch)
    lines, _ = printed(["models", "akgnn"], width, capsys, monkeypatch)
    assert max(map(cell_len, lines)) <= width
    more = ["Where the other presets differ from paper:"]
    assert values_in(lines) <= values_in(whole) | values_in(more)
    assert "num_layers=20, order=blocks," in "\n".join(lines)


def test_files_and_pipes_get_whole_lines(capsys, monkeypatch):
    whole, _ = printed(["inspect", "run"], WIDEST, capsys, monkeypatch)
    monkeypatch.delenv("COLUMNS")
    assert main(["inspect", "run"]) == 0
    assert capsys.readouterr().out.splitlines() == whole
