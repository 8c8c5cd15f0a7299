import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from akgnn.cli.inspect import _print_insight
from akgnn.cli.main import main
from akgnn.explain.insight import Suspect
from akgnn.layers.kernels import KERNELS, SignedKernel
from akgnn.runs.plan import RunPlan
from run_files import rewrite


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    options = ["--dataset", "csbm:num_nodes=200", "--set", "epochs=20", "--set", "num_layers=3"]
    assert main(["train", *options, "--out", str(out)]) == 0
    return out


def test_layers_as_json(run, capsys):
    assert main(["inspect", str(run), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["layers"]) == 3
    for layer, lambda_max in zip(result["layers"], result["lambda_max"], strict=True):
        assert layer["lambda_max"] == pytest.approx(lambda_max)
        assert layer["scalar"] == layer["lambda_max"]
        assert (layer["kernel"], layer["symbol"]) == ("paper", "λ")
        assert layer["all_pass"] + layer["low_pass"] == pytest.approx(2)
        expected = [1 - frequency / lambda_max for frequency in result["frequency"]]
        assert layer["response"] == pytest.approx(expected, abs=1e-6)


def test_people_see_a_row_a_layer(run, capsys):
    assert main(["inspect", str(run)]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("layer"))
    assert [line.split()[0] for line in lines[start + 1 : start + 4]] == ["1", "2", "3"]


def test_the_accuracy_of_few_nodes_has_its_interval(run, tmp_path, capsys):
    assert main(["inspect", str(run), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    low, high = result["test_accuracy_ci95"]
    assert low < result["test_accuracy"] < high
    words = f" % ({low:.0f} to {high:.0f} with {result['num_test']} nodes)"
    old = changed(run, tmp_path / "old", lambda content: content["result"].pop("num_test"))
    for folder in (run, old):
        assert main(["inspect", str(folder)]) == 0
        assert words in capsys.readouterr().out.splitlines()[1]


def test_what_is_no_run_is_refused(tmp_path, capsys):
    (tmp_path / "run.json").write_text("{}")
    assert main(["inspect", str(tmp_path)]) == 2
    assert "was not written by akgnn" in capsys.readouterr().err


def trained(folder, *options):
    small = ["--preset", "any-graph", "--set", "epochs=6", "--set", "num_layers=2"]
    data = [] if "--dataset" in options else ["--dataset", "csbm:num_nodes=200,homophily=0.1"]
    assert main(["train", *data, *small, *options, "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("runs") / "signed")


def inspected(run, capsys, *options):
    capsys.readouterr()
    assert main(["inspect", str(run), "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_signed_kernel_has_tau_and_no_lambda(signed, capsys):
    result = inspected(signed, capsys)
    assert (result["kernel"], result["symbol"]) == ("signed", "τ")
    for layer, share in zip(result["layers"], result["neighbour_share"], strict=True):
        tau = layer["scalar"]
        assert layer["lambda_max"] is None
        assert layer["neighbour_share"] == pytest.approx(share)
        assert share == pytest.approx(tau / (1 + abs(tau)))
        assert layer["all_pass"] + abs(layer["low_pass"]) == pytest.approx(2)
        expected = [(1 + tau * (1 - mu)) / (1 + abs(tau)) for mu in result["frequency"]]
        assert layer["response"] == pytest.approx(expected, abs=1e-6)
    assert [start["start"] for start in result["starts"]] == ["GCN, fixed", "1", "0.1"]
    assert sum(start["is_chosen"] for start in result["starts"]) == 1
    assert result["homophily"]["num_edges"] > 0
    assert "neighbours" in result["words"][0]


def test_people_read_words_and_starts(signed, capsys):
    capsys.readouterr()
    assert main(["inspect", str(signed)]) == 0
    out = capsys.readouterr().out
    assert "layer       τ  neighbours" in out or "layer      τ  neighbours" in out
    assert "training nodes" in out
    assert out.count("  kept\n") == 1
    assert "τ = 0 keeps a node's own signal" in out


def test_groups_and_both_directions_have_a_row_each(tmp_path, capsys):
    changes = ["--set", "groups=2", "--set", "normalisation=directed"]
    run = trained(tmp_path / "run", *changes)
    layers = inspected(run, capsys)["layers"]
    positions = [(layer["layer"], layer["direction"], layer["group"]) for layer in layers]
    assert positions == [(k, side, g) for k in (1, 2) for side in ("in", "out") for g in (1, 2)]
    assert main(["inspect", str(run)]) == 0
    out = capsys.readouterr().out
    assert "\n2, out, group 1 " in out
    assert "in-neighbours" in out
    assert "out-neighbours" in out


def test_a_graph_without_edges_has_no_shares(tmp_path, capsys):
    run = trained(tmp_path / "run", "--dataset", "csbm:num_nodes=200,degree=0.001")
    result = inspected(run, capsys)
    assert result["words"] == ["The graph has no edges: every kernel is the identity."]
    assert result["layers"][0]["neighbour_share"] is None


def changed(run, folder, change):
    shutil.copytree(run, folder)
    content = json.loads((folder / "run.json").read_text())
    change(content)
    rewrite(folder / "run.json", content)
    return folder


def without_data(content):
    content["settings"]["run"]["dataset"] = "texas"
    content["settings"]["run"]["split"] = None


def test_without_the_data_the_homophily_is_missing(signed, tmp_path, capsys):
    folder = changed(signed, tmp_path / "run", without_data)
    root = ("--data-root", str(tmp_path / "empty" / "file"))
    (tmp_path / "empty").write_text("no folder")
    result = inspected(folder, capsys, *root)
    assert result["homophily"] is None
    assert result["homophily_missing"]
    assert result["layers"][0]["neighbour_share"] == pytest.approx(result["neighbour_share"][0])
    assert main(["inspect", str(folder), *root]) == 0
    out = capsys.readouterr().out
    (line,) = [line for line in out.splitlines() if "is not known" in line]
    assert line.startswith("The homophily of the training nodes is not known: ")
    assert "the neighbours" in out


def test_why_the_data_are_missing_is_said_in_flags(signed, tmp_path, capsys):
    def elsewhere(content):
        content["settings"]["run"].update(dataset="chameleon-filtered", split=None)

    folder = changed(signed, tmp_path / "run", elsewhere)
    missing = inspected(folder, capsys, "--data-root", str(tmp_path))["homophily_missing"]
    assert "--data-root or AKGNN_DATA names the folder" in missing


def test_other_data_are_not_taken_for_the_runs(signed, tmp_path, capsys):
    def other(content):
        # Of the same sizes; those of other sizes are refused at once.
        content["settings"]["run"]["dataset"] += ",seed=7"

    result = inspected(changed(signed, tmp_path / "run", other), capsys)
    missing = "csbm has changed since the run was trained. Restore it, or train again."
    assert result["homophily_missing"] == missing


def test_an_old_run_takes_its_shares_from_the_data(signed, tmp_path, capsys):
    def old(content):
        del content["result"]["neighbour_share"], content["result"]["starts"]

    folder = changed(signed, tmp_path / "run", old)
    assert inspected(folder, capsys)["words"] == inspected(signed, capsys)["words"]


def test_shares_that_do_not_fit_are_refused(signed, tmp_path, capsys):
    def damage(content):
        without_data(content)
        content["result"]["neighbour_share"] = [0.5]

    folder = changed(signed, tmp_path / "run", damage)
    (tmp_path / "empty").write_text("no folder")
    capsys.readouterr()
    assert main(["inspect", str(folder), "--data-root", str(tmp_path / "empty" / "x")]) == 2
    assert "its neighbour shares do not fit the model" in capsys.readouterr().err


def test_a_kernel_that_is_not_registered_any_more_is_named(tmp_path, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setitem(KERNELS, "mine", SignedKernel())
        run = trained(tmp_path / "run", "--kernel", "mine")
        assert inspected(run, capsys)["kernel"] == "mine"
    capsys.readouterr()
    assert main(["inspect", str(run)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "Unknown kernel 'mine'. Choose from paper, signed, smooth." in error


def test_a_model_without_kernels_shows_the_rest(tmp_path, capsys):
    options = ["--dataset", "csbm:num_nodes=200", "--model", "gcn", "--set", "epochs=2"]
    assert main(["train", *options, "--out", str(tmp_path / "run")]) == 0
    result = inspected(tmp_path / "run", capsys)
    assert result["kernel"] is None
    assert result["layers"] == result["insight"]["smoothing"] == []
    assert len(result["insight"]["classes"]) == 4
    assert main(["inspect", str(tmp_path / "run")]) == 0
    out = capsys.readouterr().out
    assert "The model 'gcn' has no adaptive kernels." in out
    assert "Of the labels' energy" in out
    assert "precision" in out


def test_a_run_is_seen_through(run, capsys):
    result = inspected(run, capsys)
    insight = result["insight"]
    assert len(insight["smoothing"]) == 4
    table = insight["confusion"]
    hits = sum(row[k] for k, row in enumerate(table))
    assert 100 * hits / sum(map(sum, table)) == pytest.approx(result["test_accuracy"])
    assert 0 <= insight["calibration_gap"] <= 100
    roles = [suspect["role"] == "training" for suspect in insight["suspects"]]
    assert roles == sorted(roles)
    assert any(line.startswith("What enters the layers has") for line in result["words"])


def test_people_read_scores_calibration_and_doubtful_labels(run, capsys):
    capsys.readouterr()
    assert main(["inspect", str(run)]) == 0
    out = capsys.readouterr().out
    assert "Scores on the test nodes, in per cent:" in out
    assert "Expected calibration error:" in out
    assert "Labels that the model believes least" in out
    suggestion = out.splitlines()[-1]
    assert suggestion.startswith(f"Why a node gets its class: akgnn explain {run} ")
    assert main(suggestion.partition("akgnn ")[2].split()) == 0


def without_test_nodes(monkeypatch):
    load = RunPlan.load

    def loaded(self, *where, **tables):
        data = load(self, *where, **tables)
        return data.with_split(replace(data.split, test=data.split.test[:0]))

    monkeypatch.setattr(RunPlan, "load", loaded)


def test_a_run_without_test_nodes(tmp_path, monkeypatch, capsys):
    without_test_nodes(monkeypatch)
    run = trained(tmp_path / "run")
    insight = inspected(run, capsys)["insight"]
    assert insight["classes"] == insight["reliability"] == []
    assert insight["calibration_gap"] is None
    assert main(["inspect", str(run)]) == 0
    out = capsys.readouterr().out
    assert "test accuracy – %\n" in out
    assert "There are no test nodes" in out
    assert "precision" not in out


def test_without_the_data_there_is_no_insight(signed, tmp_path, capsys):
    folder = changed(signed, tmp_path / "run", without_data)
    (tmp_path / "empty").write_text("no folder")
    root = ("--data-root", str(tmp_path / "empty" / "x"))
    assert inspected(folder, capsys, *root)["insight"] is None
    assert main(["inspect", str(folder), *root]) == 0
    assert "calibration" not in capsys.readouterr().out


def test_a_command_that_is_shown_can_be_typed(capsys):
    """Ids are the user's own and may hold what a shell takes for its own signs."""
    doubtful = Suspect(0, "p 1; ls", "test", "a", "b", 0.1, 0.9, 3, 1, 2)
    insight = SimpleNamespace(classes=(), reliability=(), suspects=[doubtful])
    _print_insight(insight, Path("my run"))
    out = capsys.readouterr().out
    assert "akgnn explain 'my run' 'p 1; ls'" in out
    assert "Training labels" not in out
    assert "1 : 2" in out


def test_blocks_with_many_groups_are_a_line_each(tmp_path, capsys):
    out = str(tmp_path / "run")
    blocks = ["order=blocks", "groups=8", "hidden_channels=16", "num_layers=2", "epochs=3"]
    changes = [part for change in blocks for part in ("--set", change)]
    assert main(["train", "--dataset", "csbm:num_nodes=60", *changes, "--out", out]) == 0
    capsys.readouterr()
    assert main(["inspect", out]) == 0
    shown = capsys.readouterr().out
    rows = [line for line in shown.splitlines() if ", 8 groups" in line]
    assert [row.split(",")[0] for row in rows] == ["1", "2"]
    assert " to " in rows[0]
    assert "group 3" not in shown
    assert "Beside its kernel each block has a linear map" in shown
    assert main(["inspect", out, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["layers"]) == 16
