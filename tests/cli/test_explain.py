import json
import os
import shutil
import subprocess
import sys
from functools import partial

import pytest

from akgnn.cli.main import main
from akgnn.data.catalogue import load_dataset
from akgnn.explain import explanation
from run_files import rewrite

DATA = "csbm:num_nodes=200,degree=4"


def trained(folder, *options):
    data = [] if "--dataset" in options else ["--dataset", DATA]
    assert main(["train", *data, "--set", "epochs=10", *options, "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def data():
    return load_dataset(DATA)


@pytest.fixture(scope="module")
def hub(data):
    return int(data.graph.degree.argmax())


def explained(run, node, capsys, *options):
    capsys.readouterr()
    assert main(["explain", str(run), str(node), "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_explanation_as_json(run, data, hub, capsys):
    found = explained(run, hub, capsys, "--top", "3")
    assert found["node"] == hub
    assert found["num_neighbours"] == int(data.graph.degree[hub])
    assert len(found["neighbours"]) == len(found["far"]) == 3
    sizes = [abs(neighbour["effect"]) for neighbour in found["neighbours"]]
    assert sizes == sorted(sizes, reverse=True)
    assert found["label"] == data.class_names[int(data.y[hub])]


def test_it_explains_what_is_predicted(run, hub, capsys):
    assert main(["predict", str(run), "--json"]) == 0
    predicted = json.loads(capsys.readouterr().out)
    found = explained(run, hub, capsys)
    assert found["predicted"] == predicted["label"][hub]
    assert found["probability"] == pytest.approx(max(predicted["probability"][hub]), rel=1e-5)


def test_people_read_a_table_and_words(run, data, hub, capsys):
    capsys.readouterr()
    assert main(["explain", str(run), str(hub), "--top", "2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Node {hub} (")
    assert "What each neighbour adds to the log-odds of" in out
    assert "against for" in out
    assert "│█" in out or "█│" in out
    assert f"and {int(data.graph.degree[hub]) - 2} others with smaller effects: together " in out
    assert "Nodes behind the neighbours" in out


def test_an_isolated_node_decides_by_itself(run, data, capsys):
    alone = int((data.graph.degree == 0).nonzero()[0])
    assert explained(run, alone, capsys)["neighbours"] == []
    assert main(["explain", str(run), str(alone)]) == 0
    out = capsys.readouterr().out
    assert "It has no neighbours: its own features decide." in out
    assert "Without its edges" not in out


def test_a_graph_without_edges(tmp_path, capsys):
    run = trained(tmp_path / "run", "--dataset", "csbm:num_nodes=200,degree=0.001")
    assert explained(run, 3, capsys)["num_neighbours"] == 0


def test_a_model_without_edges_says_that_neighbours_hardly_matter(tmp_path, hub, capsys):
    run = trained(tmp_path / "run", "--model", "mlp")
    found = explained(run, hub, capsys)
    assert {neighbour["says"] for neighbour in found["neighbours"]} == {"hardly matters"}
    assert found["far"] == []


def test_a_hub_is_not_looked_at_from_all_sides(run, hub, capsys, monkeypatch):
    two = partial(explanation.explain_node, most_neighbours=2)
    monkeypatch.setattr(explanation, "explain_node", two)
    assert main(["explain", str(run), str(hub)]) == 0
    out = capsys.readouterr().out
    assert "neighbours, the 2 whose features count most were looked at." in out
    assert "with smaller effects" not in out


@pytest.mark.parametrize("model", ["gcn", "gat", "chebynet"])
def test_other_models_are_explained_too(model, tmp_path, hub, capsys):
    found = explained(trained(tmp_path / "run", "--model", model), hub, capsys)
    assert any(abs(neighbour["effect"]) > 1e-4 for neighbour in found["neighbours"])


def test_several_nodes_are_explained_one_after_the_other(run, hub, capsys):
    found = explained(run, hub, capsys, "3", str(hub), "5")
    assert [each["node"] for each in found["nodes"]] == [hub, 3, 5]
    assert main(["explain", str(run), "3", "5"]) == 0
    out = capsys.readouterr().out
    assert "\n\nNode 5" in out
    assert out.startswith("Node 3")
    assert out.count("is exact") == 1


def test_bars_have_letters_that_every_terminal_has(run, hub):
    command = [sys.executable, "-m", "akgnn", "explain", str(run), str(hub), "3"]
    env = {**os.environ, "COLUMNS": "60", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=env, capture_output=True, check=True)
    out = done.stdout.decode("ascii")
    assert max(map(len, out.splitlines())) <= 60
    assert "|#" in out or "#|" in out
    assert "?" not in out


@pytest.mark.parametrize("suffix", [".svg", ".SVG", ".html"])
def test_it_is_drawn_into_a_file(run, hub, suffix, tmp_path, capsys):
    out = tmp_path / f"why{suffix}"
    assert main(["explain", str(run), str(hub), "3", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"Nodes {hub}, 3: {out}\n"
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>" if suffix == ".html" else "<svg ")
    assert f"Node {hub} (" in text
    assert "Node 3" in text


def test_a_drawing_comes_with_its_numbers_as_json(run, hub, tmp_path, capsys):
    found = explained(run, hub, capsys, "--out", str(tmp_path / "why.svg"))
    assert found["out"] == str(tmp_path / "why.svg")
    assert found["node"] == hub


def test_what_cannot_be_written_is_refused_before_the_work(tmp_path, capsys):
    # The run is not looked at.
    assert "A picture ends in" in refused([tmp_path / "no", 3, "--out", "why.pdf"], capsys)
    (tmp_path / "why.svg").mkdir()
    assert "it is a folder" in refused([tmp_path / "no", 3, "--out", tmp_path / "why.svg"], capsys)


def refused(arguments, capsys):
    capsys.readouterr()
    assert main(["explain", *map(str, arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["200"], "csbm has the nodes 0 to 199; there is no node 200"),
        (["99999999999999999999999"], "there is no node"),
        (["first"], "A node of csbm is a number from 0 to 199, got 'first'"),
        (["1.5"], "got '1.5'"),
        (["", "--json"], "got ''"),
        (["3", "--top", "0"], "'--top'"),
        (["3", "--top", "many"], "'--top'"),
        (["3", "--device", "abacus"], "abacus"),
        ([], "Missing argument 'NODE...'"),
        (["3", "200"], "there is no node 200"),
        (["3", "--out", "why.pdf"], "A picture ends in .svg, .png or .html; why.pdf has '.pdf'"),
        (["3", "--out", "why"], "why has no ending"),
        (["3", "--out", "no/such/why.svg"], "there is no folder no/such"),
    ],
)
def test_wrong_use_is_one_line(run, arguments, message, capsys):
    assert message in refused([run, *arguments], capsys)


def test_a_folder_without_a_run_is_refused(tmp_path, capsys):
    assert "holds no run" in refused([tmp_path, 3], capsys)
    assert "holds no run" in refused([tmp_path / "no", 3], capsys)


def changed(run, folder, change):
    shutil.copytree(run, folder)
    content = json.loads((folder / "run.json").read_text())
    change(content)
    rewrite(folder / "run.json", content)
    return folder


def test_an_unfinished_run_is_refused(run, tmp_path, capsys):
    folder = changed(run, tmp_path / "run", lambda content: content.update(status="running"))
    assert "has not finished" in refused([folder, 3], capsys)


def test_a_failed_run_is_refused_with_its_cause(run, tmp_path, capsys):
    failed = {"status": "failed", "error": "The loss became NaN."}
    folder = changed(run, tmp_path / "run", lambda content: content.update(failed))
    assert "The loss became NaN." in refused([folder, 3], capsys)


def test_a_run_without_its_weights_is_refused(run, tmp_path, capsys):
    folder = changed(run, tmp_path / "run", lambda content: None)
    (folder / "weights.safetensors").unlink()
    assert "is missing, or is no file" in refused([folder, 3], capsys)


def test_data_that_changed_are_refused(run, tmp_path, capsys):
    def other(content):
        content["settings"]["run"]["dataset"] = f"{DATA},seed=7"

    folder = changed(run, tmp_path / "run", other)
    assert "csbm has changed since the run was trained" in refused([folder, 3], capsys)


def test_data_that_are_gone_are_named(run, tmp_path, capsys):
    def gone(content):
        content["settings"]["run"].update(dataset="texas", split=None)

    folder = changed(run, tmp_path / "run", gone)
    (tmp_path / "empty").write_text("no folder")
    assert refused([folder, 3, "--data-root", tmp_path / "empty" / "x"], capsys)


def test_a_folder_of_several_seeds_names_one(tmp_path, capsys):
    (tmp_path / "seed-3").mkdir()
    (tmp_path / "seed-3" / "run.json").write_text("{}")
    assert "seed-3" in refused([tmp_path, 3], capsys)


@pytest.mark.parametrize("word", ["-5", "-x5"])
def test_an_id_that_begins_with_a_minus_goes_behind_two(word, capsys):
    assert main(["explain", "run", word]) == 2
    assert f"write it after --: akgnn explain RUN -- {word}" in capsys.readouterr().err
    assert main(["explain", "run", "--tup", "5"]) == 2
    assert "after --" not in capsys.readouterr().err
