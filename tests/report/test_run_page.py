import json
import shutil
from dataclasses import replace

import pytest
import torch

from akgnn.cli.main import main
from akgnn.errors import CheckpointError, DataError
from akgnn.report.html import render
from akgnn.report.run_page import class_scores, mistakes, run_page
from akgnn.training.plan import RunPlan
from report_data import HOSTILE
from run_files import rewrite


def test_numbers_are_those_of_the_run(run):
    page = run_page(run)
    shown, kept = page.shown, json.loads((run / "run.json").read_text())
    table = torch.tensor(shown["confusion"])
    accuracy = 100 * float(table.diag().sum()) / float(table.sum())
    assert accuracy == pytest.approx(kept["result"]["test_accuracy"])
    f1 = [score.f1 for score in shown["scores"]]
    assert sum(f1) / len(f1) == pytest.approx(kept["result"]["test_macro_f1"])
    assert shown["num_mistakes"] == int(table.sum() - table.diag().sum())
    assert page.drawn["figures"]["loss"]["panels"][0]["best"] == kept["result"]["best_epoch"]
    assert page.drawn["responses"][0]["lambda"] == kept["result"]["lambda_max"]


def test_scores_of_classes_by_hand():
    scores = class_scores(torch.tensor([[3, 1], [2, 4]]), ("a", "b"))
    assert scores[0].precision == pytest.approx(60)
    assert scores[0].recall == pytest.approx(75)
    assert scores[0].f1 == pytest.approx(200 * 0.6 * 0.75 / 1.35)
    assert [score.support for score in scores] == [4, 6]


def test_the_surest_mistakes_come_first(run):
    found = run_page(run).shown["mistakes"]
    assert 0 < len(found) <= 20
    assert [m.probability for m in found] == sorted((m.probability for m in found), reverse=True)
    assert all(m.true != m.predicted for m in found)


def test_only_test_nodes_count_as_mistakes(run):
    plan = run_page(run).shown["run"].plan
    data = plan.load()
    wrong = torch.zeros(data.graph.num_nodes, data.num_classes)
    wrong[torch.arange(len(wrong)), (data.y + 1) % data.num_classes] = 1.0
    nodes = {mistake.node for mistake in mistakes(wrong, data)}
    assert nodes <= set(data.split.test.tolist())


def test_a_model_without_kernels_has_no_response(tmp_path):
    options = ["--dataset", "csbm:num_nodes=200", "--model", "gcn", "--set", "epochs=5"]
    assert main(["train", *options, "--out", str(tmp_path / "gcn")]) == 0
    page = run_page(tmp_path / "gcn")
    assert page.drawn["responses"] == []
    assert list(page.drawn["figures"]) == ["loss"]
    assert 'id="response"' not in render(page)


def test_a_signed_run_has_words_starts_and_shares(signed_run):
    page = run_page(signed_run)
    kept = json.loads((signed_run / "run.json").read_text())["result"]
    assert list(page.drawn["figures"]) == ["loss", "share"]
    panel = page.drawn["figures"]["share"]["panels"][0]
    assert panel["names"] == ["layer 1", "layer 2", "layer 3"]
    chosen = [layer[kept["best_epoch"] - 1] for layer in panel["layers"]]
    assert chosen == pytest.approx(kept["neighbour_share"], rel=1e-3)
    taus = [share / (1 - abs(share)) for share in kept["neighbour_share"]]
    assert page.drawn["responses"][0]["tau"] == pytest.approx(taus, rel=1e-4)
    text = render(page).partition('id="drawn"')[0]
    assert all(line in text for line in page.shown["learned"].words)
    assert text.count(">kept</td>") == 1
    assert "τ by layer" in text
    assert "GCN, fixed" in text


def trained(folder, *options):
    small = ["--preset", "any-graph", "--set", "epochs=4", "--set", "num_layers=2"]
    data = [] if "--dataset" in options else ["--dataset", "csbm:num_nodes=200"]
    assert main(["train", *data, *small, *options, "--out", str(folder)]) == 0
    return run_page(folder)


def test_groups_have_a_response_each_and_one_line_a_layer(tmp_path):
    page = trained(tmp_path / "run", "--set", "groups=2")
    assert [response["name"] for response in page.drawn["responses"]] == ["group 1", "group 2"]
    assert [len(response["tau"]) for response in page.drawn["responses"]] == [2, 2]
    assert page.drawn["figures"]["share"]["panels"][0]["names"] == ["layer 1", "layer 2"]
    assert "layer 2, group 1" in render(page)


def test_in_and_out_neighbours_have_no_common_response(tmp_path):
    page = trained(tmp_path / "run", "--set", "normalisation=directed")
    assert page.drawn["responses"] == []
    names = page.drawn["figures"]["share"]["panels"][0]["names"]
    assert names == ["layer 1, in", "layer 1, out", "layer 2, in", "layer 2, out"]
    assert "no graph frequencies in common" in render(page)


def test_a_graph_without_edges_is_said(tmp_path):
    page = trained(tmp_path / "run", "--dataset", "csbm:num_nodes=200,degree=0.001")
    assert list(page.drawn["figures"]) == ["loss"]
    assert page.drawn["responses"] == []
    assert "The graph has no edges: every kernel is the identity." in render(page)


def test_hostile_class_names_are_shown_as_text(tmp_path, monkeypatch):
    load = RunPlan.load

    def load_hostile(self, *where):
        data = load(self, *where)
        return replace(data, class_names=(HOSTILE, *data.class_names[1:]))

    monkeypatch.setattr(RunPlan, "load", load_hostile)
    options = ["--dataset", "csbm:num_nodes=200", "--set", "epochs=5"]
    assert main(["train", *options, "--out", str(tmp_path / "run")]) == 0
    head = render(run_page(tmp_path / "run")).partition('id="drawn"')[0]
    assert "onerror=alert" in head
    assert "<img" not in head


def damaged(run, tmp_path, change):
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    content = json.loads((folder / "run.json").read_text())
    change(content)
    rewrite(folder / "run.json", content)
    return folder


def test_other_data_are_refused(run, tmp_path):
    folder = damaged(run, tmp_path, lambda c: c["data"].update(split="public:00000000"))
    with pytest.raises(DataError, match="is not the data"):
        run_page(folder)


def test_epochs_that_do_not_fit_are_refused(run, tmp_path):
    folder = damaged(run, tmp_path, lambda c: c["result"].update(best_epoch=0))
    with pytest.raises(CheckpointError, match="damaged"):
        run_page(folder)
