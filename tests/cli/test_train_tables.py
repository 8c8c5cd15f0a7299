"""`akgnn train` and `akgnn predict` on tables of one's own."""

import csv
import json
import subprocess
import sys

import pytest

from akgnn.cli.main import main
from akgnn.data.catalogue import load_dataset
from written_tables import ids_of, write_tables

SMALL = ["--preset", "any-graph", "--set", "several_starts=false", "--set", "hidden_channels=8"]
SMALL += ["--set", "epochs=80"]


@pytest.fixture(scope="module")
def data():
    return load_dataset("csbm:num_nodes=120,homophily=0.9,signal=8,num_features=6")


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    write_tables(data, folder, seed=0)
    return folder


def tables(folder):
    return ["--nodes", str(folder / "nodes.csv"), "--edges", str(folder / "edges.csv")]


def columns():
    return ["--id", "id", "--label", "label", "--split", "split"]


@pytest.fixture(scope="module")
def run(folder):
    out = folder / "run"
    assert main(["train", *tables(folder), *columns(), *SMALL, "--out", str(out)]) == 0
    return out


def rows_of(file):
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_predictions_have_the_users_ids_in_the_users_order(run, folder, tmp_path):
    out = tmp_path / "predictions.csv"
    assert main(["predict", str(run), "--out", str(out)]) == 0
    found, given = rows_of(out), rows_of(folder / "nodes.csv")
    assert [row["id"] for row in found] == [row["id"] for row in given]
    assert found[0]["id"].startswith("0")
    names = {row["label"] for row in given}
    assert {row["label"] for row in found} <= names
    right = sum(a["label"] == b["label"] for a, b in zip(found, given, strict=True))
    assert right > 0.8 * len(given)
    assert list(tmp_path.iterdir()) == [out]


def test_tables_train_as_the_data_set_that_they_hold(run, data, folder, capsys):
    name = "csbm:num_nodes=120,homophily=0.9,signal=8,num_features=6"
    assert main(["train", "--dataset", name, *SMALL, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert main(["train", *tables(folder), *columns(), *SMALL, "--json"]) == 0
    own = json.loads(capsys.readouterr().out)
    assert own["dataset"] == "tables"
    # Shuffled rows have other dropout masks, so the numbers differ a little.
    assert own["test_accuracy"] == pytest.approx(whole["test_accuracy"], abs=15)


def test_the_same_tables_in_another_order_of_columns_give_the_same_predictions(
    run, folder, tmp_path
):
    rows = rows_of(folder / "nodes.csv")
    turned = tmp_path / "turned.csv"
    with turned.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(reversed(rows[0])))
        writer.writeheader()
        writer.writerows(rows)
    edges = str(folder / "edges.csv")
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    assert main(["predict", str(run), "--out", str(first)]) == 0
    asked = ["--nodes", str(turned), "--edges", edges]
    assert main(["predict", str(run), *asked, "--out", str(second)]) == 0
    assert first.read_text() == second.read_text()


def test_columns_that_were_found_by_their_place_are_later_found_by_their_name(data, tmp_path):
    write_tables(data, tmp_path)
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text(nodes.read_text().replace("id,", "paper,", 1))
    edges.write_text(edges.read_text().replace("source,target", "left,right", 1))
    run, first, second = tmp_path / "run", tmp_path / "a.csv", tmp_path / "b.csv"
    options = ["--split", "split", *SMALL, "--out", str(run)]
    assert main(["train", *tables(tmp_path), *options]) == 0
    assert main(["predict", str(run), "--out", str(first)]) == 0
    rows = rows_of(nodes)
    with nodes.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(reversed(rows[0])))
        writer.writeheader()
        writer.writerows(rows)
    assert main(["predict", str(run), *tables(tmp_path), "--out", str(second)]) == 0
    assert first.read_text() == second.read_text()


def test_new_nodes_are_predicted_with_their_links_to_old_ones(data, tmp_path):
    new = list(range(0, 120, 10))
    old = [node for node in range(120) if node not in new]
    write_tables(data, tmp_path / "old", nodes=old)
    write_tables(data, tmp_path / "new", nodes=new, edges="touching")
    run, out = tmp_path / "run", tmp_path / "new.csv"
    options = ["--columns", "feature_*", *SMALL]
    assert main(["train", *tables(tmp_path / "old"), *options, "--out", str(run)]) == 0
    assert main(["predict", str(run), *tables(tmp_path / "new"), "--out", str(out)]) == 0
    found, given = rows_of(out), rows_of(tmp_path / "new" / "nodes.csv")
    assert [row["id"] for row in found] == [row["id"] for row in given]
    assert {row["id"] for row in found} == {ids_of(data)[node] for node in new}
    # The whole graph at once says the same.
    write_tables(data, tmp_path / "all", seed=1)
    everything = tmp_path / "all.csv"
    asked = [*tables(tmp_path / "all"), "--out", str(everything)]
    assert main(["predict", str(run), *asked]) == 0
    known = {row["id"]: row for row in rows_of(everything)}
    for row in found:
        for name, value in row.items():
            if name.startswith("probability"):
                assert float(value) == pytest.approx(float(known[row["id"]][name]), abs=2e-6)


def test_a_new_process_gives_the_same_bits(run, capsys):
    assert main(["predict", str(run), "--json"]) == 0
    here = json.loads(capsys.readouterr().out)
    command = [sys.executable, "-m", "akgnn", "predict", str(run), "--json"]
    there = subprocess.run(command, check=True, capture_output=True, text=True)
    assert json.loads(there.stdout) == here


def test_a_run_goes_on_from_any_folder(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    out = tmp_path / "run"
    given = ["--nodes", "nodes.csv", "--edges", "edges.csv", *columns(), *SMALL]
    assert main(["train", *given, "--out", str(out)]) == 0
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--out", str(out), "--resume"]) == 0
    assert main(["inspect", str(out)]) == 0
    assert "not known" not in capsys.readouterr().out


def test_nodes_go_by_their_ids_everywhere(run, folder, capsys):
    first = rows_of(folder / "nodes.csv")[0]["id"]
    assert main(["explain", str(run), first]) == 0
    assert f"Node {first}" in capsys.readouterr().out
    assert main(["explain", str(run), "nobody"]) == 2
    assert "no node with the id 'nobody'; ids look like" in capsys.readouterr().err
    assert main(["inspect", str(run), "--json"]) == 0
    capsys.readouterr()
    assert main(["inspect", str(run)]) == 0
    assert " on nodes, split column-split" in capsys.readouterr().out
    page = folder / "page.html"
    assert main(["report", str(run), "--out", str(page)]) == 0
    assert "akgnn on nodes, seed 0" in page.read_text(encoding="utf-8")


def test_settings_are_searched_for_own_tables_too(folder, tmp_path, capsys):
    out = tmp_path / "tuned"
    given = ["--nodes", str(folder / "nodes.csv"), "--edges", str(folder / "edges.csv")]
    fixed = ["--set", "epochs=5", "--set", "hidden_channels=8"]
    assert main(["tune", *given, *fixed, "--trials", "2", "--out", str(out)]) == 0
    assert main(["train", "--config", str(out / "best.toml")]) == 0
    assert "nodes: 120 nodes" in capsys.readouterr().out


def test_changed_tables_are_noticed(data, tmp_path, capsys):
    write_tables(data, tmp_path)
    run = tmp_path / "run"
    given = [*tables(tmp_path), *columns(), *SMALL]
    assert main(["train", *given, "--out", str(run)]) == 0
    write_tables(data, tmp_path, nodes=range(1, 120))
    assert main(["train", "--out", str(run), "--resume"]) == 2
    assert "other data" in capsys.readouterr().err


def test_several_seeds_of_own_tables_train_side_by_side(folder, tmp_path, capsys):
    given = [*tables(folder), *columns(), *SMALL, "--seeds", "2"]
    assert main(["train", *given, "--out", str(tmp_path / "runs")]) == 0
    assert "over 2 seeds" in capsys.readouterr().out
    assert main(["predict", str(tmp_path / "runs" / "seed-1")]) == 0


BAD = [
    (["--nodes", "n.csv"], "does not exist"),
    (["--edges", "e.csv"], "Your own tables need --nodes, the table of the nodes."),
    (["--label", "label"], "Your own tables need --nodes, the table of the nodes."),
    (["--nodes", "n.csv", "--neighbours", "0"], "neighbours must be from 1 to"),
    (["--nodes", "n.csv", "--edges", "e.csv", "--dataset", "cora"], "not both"),
    (["--nodes", "n.csv", "--edges", "e.csv"], "does not exist"),
    (["--nodes", "n.csv", "--edges", "e.csv", "--missing", "guess"], "fill, refuse"),
    (["--nodes", "n.csv", "--edges", "e.csv", "--unknown-ids", "add"], "refuse, drop"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_wrong_options_are_one_clear_line(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["train", *arguments, "--out", "run"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_what_is_wrong_in_a_table_is_one_clear_line(folder, tmp_path, capsys):
    bad = tmp_path / "edges.csv"
    bad.write_text((folder / "edges.csv").read_text() + "00001,nobody\n")
    nodes = ["--nodes", str(folder / "nodes.csv"), "--edges", str(bad)]
    assert main(["train", *nodes, *columns(), *SMALL]) == 2
    error = capsys.readouterr().err
    assert "nobody" in error
    assert "--unknown-ids drop" in error
    assert main(["train", *nodes, *columns(), *SMALL, "--unknown-ids", "drop"]) == 0


def test_a_prediction_that_cannot_be_is_refused(run, folder, tmp_path, capsys):
    (tmp_path / "n.csv").write_text("id,feature_0\n1,2\n")
    asked = ["--nodes", str(tmp_path / "n.csv")]
    assert main(["predict", str(run), *asked]) == 2
    assert "feature_1" in capsys.readouterr().err
    assert main(["predict", str(run), "--edges", str(folder / "edges.csv")]) == 2
    assert "--edges needs --nodes" in capsys.readouterr().err
    assert main(["predict", str(run), *asked, "--dataset", "cora"]) == 2
    assert "not both" in capsys.readouterr().err
    out = tmp_path / "toy"
    assert main(["train", "--dataset", "csbm:num_nodes=60", *SMALL, "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(["predict", str(out), *asked]) == 2
    assert "not on tables" in capsys.readouterr().err


def test_numbers_that_are_too_large_are_told_of(data, tmp_path, capsys):
    write_tables(data, tmp_path)
    nodes = tmp_path / "nodes.csv"
    head, *rows = nodes.read_text().splitlines()
    years = [f"{row},{1990 + number % 20}" for number, row in enumerate(rows)]
    nodes.write_text("\n".join([f"{head},year", *years]) + "\n")
    command = ["train", *tables(tmp_path), *columns(), *SMALL]
    assert main([*command, "--prepare", "plain"]) == 0
    assert "Column 'year' holds numbers as large as 2,009" in capsys.readouterr().err
    for more in (["--prepare", "plain", "--standardise"], ["--preset", "mixed-columns"]):
        assert main([*command, *more]) == 0
        assert capsys.readouterr().err == ""


def test_own_tables_have_the_preset_that_suits_their_columns(folder, capsys):
    few = ["--set", "epochs=2", "--json"]
    for more, preset in (
        (["--preset", "mixed-columns"], "mixed-columns"),
        (["--preset", "any-graph"], "any-graph"),
        (["--model", "sgc"], "paper"),
        (["--preset", "paper"], "paper"),
    ):
        assert main(["train", *tables(folder), *columns(), *more, *few]) == 0
        assert json.loads(capsys.readouterr().out)["preset"] == preset


def test_validation_chooses_where_columns_are_plain(folder, capsys):
    few = ["--prepare", "plain", "--set", "epochs=2"]
    assert main(["train", *tables(folder), *columns(), *few, "--json"]) == 0
    told = capsys.readouterr()
    names = "any-graph, deep, deep-short, deep-middle, deep-long"
    assert f"among {names}, mlp or lets them vote, 3 seeds of each, in about" in told.err
    assert "--preset names one directly" in told.err
    result = json.loads(told.out)
    losses = {(each["model"], each["preset"]): each["score"] for each in result["choice"]["tried"]}
    assert len(losses) == 6
    choice, votes = result["choice"], result["votes"]
    assert (choice["model"], choice["preset"]) == min(losses, key=losses.get)
    assert (result["model"], result["preset"]) == (votes[0]["model"], votes[0]["preset"])
    assert sum(vote["weight"] for vote in votes) == pytest.approx(1)
    assert [vote["seed"] for vote in votes] == [0, 1, 2] * len(choice["votes"])
    assert "about_links" in choice
    # The best alone, if so asked.
    assert main(["train", *tables(folder), *columns(), *few, "--no-vote", "--json"]) == 0
    told = capsys.readouterr()
    alone = json.loads(told.out)
    assert f"among {names}, mlp, in about" in told.err
    best = min(alone["choice"]["tried"], key=lambda each: each["score"])
    assert (alone["model"], alone["preset"]) == (best["model"], best["preset"])
    assert "votes" not in alone
    # A model that was named is the only one.
    assert main(["train", *tables(folder), *columns(), *few, "--model", "akgnn", "--json"]) == 0
    assert f"among {names} or lets them vote, 3 seeds of each, in" in capsys.readouterr().err


def test_validation_chooses_where_columns_are_of_several_kinds(folder, tmp_path, capsys):
    out = str(tmp_path / "run")
    command = ["train", *tables(folder), *columns(), "--set", "epochs=4", "--out", out, "--json"]
    assert main(command) == 0
    told = capsys.readouterr()
    names = "mixed-columns, mixed-columns-no-labels, mixed-columns-deep"
    assert f"Validation chooses among {names}, in" in told.err
    assert "--preset names one directly" in told.err
    result = json.loads(told.out)
    choice, verdict = result.pop("choice"), result.pop("verdict")
    losses = {each["preset"]: each["score"] for each in choice["tried"]}
    assert list(losses) == ["mixed-columns", "mixed-columns-no-labels", "mixed-columns-deep"]
    assert result["preset"] == choice["preset"] == min(losses, key=losses.get)
    # It goes on with what was chosen, and does not choose again.
    for again in (command, ["train", "--out", out, "--json"]):
        assert main([*again, "--resume"]) == 0
        told = capsys.readouterr()
        assert "chooses" not in told.err
        assert json.loads(told.out) == {**result, "verdict": verdict}
    # What one of them cannot have leaves the others to choose from; folds take the first.
    assert main([*command[:-3], "--set", "hidden_channels=6", "--json"]) == 0
    told = capsys.readouterr()
    assert "among mixed-columns, mixed-columns-no-labels, in" in told.err
    unsplit = command[: command.index("--split")] + command[command.index("--split") + 2 : -3]
    assert main([*unsplit, "--columns", "!split", "--folds", "2", "--json"]) == 0
    told = capsys.readouterr()
    assert "chooses" not in told.err


def test_edges_in_two_files_are_those_of_one(folder, tmp_path, capsys):
    head, *rows = (folder / "edges.csv").read_text().splitlines()
    parts = tmp_path / "first.csv", tmp_path / "second.csv"
    for part, half in zip(parts, (rows[::2], rows[1::2]), strict=True):
        part.write_text("\n".join([head, *half]) + "\n")
    given = ["--nodes", str(folder / "nodes.csv")]
    two = [option for part in parts for option in ("--edges", str(part))]
    few = [*columns(), "--preset", "mixed-columns", "--set", "epochs=3", "--json"]
    results = []
    for edges in (["--edges", str(folder / "edges.csv")], two):
        assert main(["train", *given, *edges, *few, "--out", str(tmp_path / str(len(edges)))]) == 0
        results.append(json.loads(capsys.readouterr().out)["test_log_loss"])
    assert results[0] == pytest.approx(results[1], rel=1e-5)
    # The record knows both files.
    assert main(["predict", str(tmp_path / "4")]) == 0
    assert main(["train", *given, *two, *few, "--out", str(tmp_path / "4"), "--resume"]) == 0


def test_without_edges_rows_are_linked_to_their_nearest(folder, tmp_path, capsys):
    """With a settings file, as an object, for people, and for new rows."""
    nodes, run = folder / "nodes.csv", tmp_path / "run"
    few = ["--set", "hidden_channels=8", "--set", "epochs=80"]
    file = tmp_path / "akgnn.toml"
    assert main(["init", str(file), "--nodes", str(nodes), "--edges", ""]) == 0
    assert main(["train", "--config", str(file), "--split", "split", *few, "--out", str(run)]) == 0
    said = "No table of links: each row is linked to its 10 nearest rows by their columns\n"
    out = capsys.readouterr().out
    assert said in out
    assert "akgnn (nearest-neighbours), seed 0" in out
    given = ["--nodes", str(nodes), *columns(), *few, "--neighbours", "3", "--json"]
    assert main(["train", *given]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["links"] == "each row is linked to its 3 nearest rows by their columns"
    assert result["test_accuracy"] > 80
    assert main(["inspect", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["insight"] is not None
    # Rows of training are seen as in training, whether they come alone or not.
    assert main(["predict", str(run)]) == 0
    whole = capsys.readouterr().out.splitlines()
    part = tmp_path / "part.csv"
    part.write_text("\n".join(nodes.read_text().splitlines()[:4]) + "\n")
    assert main(["predict", str(run), "--nodes", str(part)]) == 0
    assert capsys.readouterr() == ("\n".join(whole[:4]) + "\n", "")
    asked = ["--nodes", str(part), "--edges", str(folder / "edges.csv")]
    assert main(["predict", str(run), *asked]) == 2
    assert "Leave --edges out." in capsys.readouterr().err


def test_weights_and_directions_are_used_when_asked_for(folder, tmp_path, capsys):
    edges = tmp_path / "links.csv"
    lines = (folder / "edges.csv").read_text().splitlines()
    rows = [f"{line},{1 + number % 3}" for number, line in enumerate(lines[1:])]
    edges.write_text("\n".join([f"{lines[0]},weight", *rows]) + "\n")
    few = ["--set", "epochs=3", "--set", "hidden_channels=4"]
    given = ["--nodes", str(folder / "nodes.csv"), "--edges", str(edges), *columns(), *few]
    named = ["--preset", "mixed-columns", "--json"]
    assert main(["train", *given, *named]) == 0
    plain, said = capsys.readouterr()
    assert said == "akgnn: Every edge weighs 1; --weight weight takes the weights of that column.\n"
    assert main(["train", *given, *named, "--weight", "weight"]) == 0
    weighted, said = capsys.readouterr()
    assert said == ""
    assert json.loads(plain)["test_log_loss"] != json.loads(weighted)["test_log_loss"]
    run = tmp_path / "run"
    assert main(["train", *given, "--direction", "kept", "--out", str(run)]) == 0
    assert main(["inspect", str(run), "--json"]) == 0
    out = capsys.readouterr().out
    layers = json.loads(out[out.index("{") :])["layers"]
    assert {layer["direction"] for layer in layers} == {"in", "out"}
