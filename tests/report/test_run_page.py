import json
import shutil
from dataclasses import replace

import pytest
import torch

from akgnn.cli.main import main
from akgnn.errors import CheckpointError, DataError
from akgnn.report.html import render
from akgnn.report.run_page import confusions_of, run_page
from akgnn.runs.load import load_run
from akgnn.runs.plan import RunPlan
from report_data import HOSTILE
from run_files import rewrite


def test_numbers_are_those_of_the_run(run):
    page = run_page(run)
    shown, kept = page.shown, json.loads((run / "run.json").read_text())
    insight = shown["insight"]
    table = torch.tensor(insight.confusion)
    accuracy = 100 * float(table.diag().sum()) / float(table.sum())
    assert accuracy == pytest.approx(kept["result"]["test_accuracy"])
    f1 = [score.f1 for score in insight.classes]
    assert sum(f1) / len(f1) == pytest.approx(kept["result"]["test_macro_f1"])
    assert insight.num_mistakes == int(table.sum() - table.diag().sum())
    assert page.drawn["figures"]["loss"]["panels"][0]["best"] == kept["result"]["best_epoch"]
    assert page.drawn["responses"][0]["lambda"] == kept["result"]["lambda_max"]


def test_the_accuracy_has_the_interval_of_its_test_nodes(run):
    page = run_page(run)
    low, high = load_run(run).result.test_accuracy_ci95
    interval = f"{low:.0f} to {high:.0f} with {page.shown['insight'].num_test} nodes"
    assert f'<span class="interval-words">{interval}</span>' in render(page)


def test_probabilities_are_in_per_cent(run):
    page = run_page(run)
    suspect = page.shown["insight"].suspects[0]
    text = render(page)
    assert text.count('<th scope="col">Probability, %</th>') >= 2
    assert f"<td>{100 * suspect.predicted_probability:.1f}</td>" in text


def test_scalars_have_a_true_minus(signed_run):
    page = run_page(signed_run)
    kernels = replace(page.shown["learned"].kernels[0], scalar=-0.031, neighbour_share=-0.5)
    page.shown["learned"] = replace(page.shown["learned"], kernels=(kernels,))
    text = render(page).partition('id="packed-drawn"')[0]
    assert "<td>−0.031</td><td>−0.50</td>" in text


def test_a_share_that_never_moves_is_a_sentence(signed_run, tmp_path):
    def hold(content):
        shares = content["history"]["neighbour_share"]
        content["history"]["neighbour_share"] = [[0.5, -0.25, 0.5]] * len(shares)

    page = run_page(damaged(signed_run, tmp_path, hold))
    assert page.drawn["figures"]["share"]["panels"] == [{}]
    text = render(page)
    assert "All 3 layers stay between −0.25 and 0.50 throughout: there is nothing to draw." in text
    assert 'data-figure="share"' not in text
    assert 'href="#share"' in text


def test_a_run_is_seen_through(run):
    page = run_page(run)
    text = render(page).partition('id="packed-drawn"')[0]
    for line in page.shown["signal_words"]:
        assert line.replace("'", "&#39;") in text
    assert "After layer 3" in text
    assert "Labels that were not learned from" in text
    bins = page.shown["insight"].reliability
    drawn = page.drawn["figures"]["reliability"]["panels"][0]
    assert sum(drawn["count"]) == sum(part.count for part in bins) == page.shown["insight"].num_test


def test_without_test_nodes_the_page_says_so(tmp_path, monkeypatch):
    load = RunPlan.load

    def loaded(self, *where, **tables):
        data = load(self, *where, **tables)
        return data.with_split(replace(data.split, test=data.split.test[:0]))

    monkeypatch.setattr(RunPlan, "load", loaded)
    page = trained(tmp_path / "run")
    assert "reliability" not in page.drawn["figures"]
    text = render(page)
    assert "There are no test nodes." in text
    assert 'href="#reliability"' not in text


def test_labels_that_the_model_gives_are_not_doubted(run, monkeypatch):
    insight = run_page(run).shown["insight"]
    certain = replace(insight, suspects=())
    monkeypatch.setattr("akgnn.report.run_page.insight_of", lambda *_, **__: certain)
    assert "The model gives every labelled node its label." in render(run_page(run))


def test_a_model_without_kernels_has_no_response(tmp_path):
    options = ["--dataset", "csbm:num_nodes=200", "--model", "gcn", "--set", "epochs=5"]
    assert main(["train", *options, "--out", str(tmp_path / "gcn")]) == 0
    page = run_page(tmp_path / "gcn")
    assert page.drawn["responses"] == []
    assert list(page.drawn["figures"]) == ["loss", "reliability"]
    text = render(page)
    assert 'id="response"' not in text
    assert "Before layer 1" not in text


def test_a_signed_run_has_words_starts_and_shares(signed_run):
    page = run_page(signed_run)
    kept = json.loads((signed_run / "run.json").read_text())["result"]
    assert list(page.drawn["figures"]) == ["loss", "share", "reliability"]
    panel = page.drawn["figures"]["share"]["panels"][0]
    assert panel["names"] == ["layer 1", "layer 2", "layer 3"]
    chosen = [layer[kept["best_epoch"] - 1] for layer in panel["layers"]]
    assert chosen == pytest.approx(kept["neighbour_share"], rel=1e-3)
    taus = [share / (1 - abs(share)) for share in kept["neighbour_share"]]
    assert page.drawn["responses"][0]["tau"] == pytest.approx(taus, rel=1e-4)
    text = render(page).partition('id="packed-drawn"')[0]
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


def test_the_groups_of_blocks_are_a_mean_and_a_band(tmp_path):
    small = ["hidden_channels=16", "num_layers=3", "epochs=6"]
    changes = [word for change in small for word in ("--set", change)]
    page = trained(tmp_path / "run", "--preset", "deep", *changes)
    kept = json.loads((tmp_path / "run" / "run.json").read_text())["result"]
    figure = page.drawn["figures"]["lambda"]["panels"][0]
    groups = torch.tensor(kept["lambda_max"]).view(3, 16)
    for name, expected in (
        ("layers", groups.mean(1)),
        ("low", groups.min(1).values),
        ("high", groups.max(1).values),
    ):
        found = [line[kept["best_epoch"] - 1] for line in figure[name]]
        assert found == pytest.approx(expected.tolist(), abs=2e-3)
    text = render(page)
    assert "means over the 16 groups of channels of a layer, and bands run from" in text
    assert f" ({groups[0].min():.2f} to {groups[0].max():.2f})</td>" in text


def test_many_layers_have_no_bands_that_cover_one_another(tmp_path):
    page = trained(tmp_path / "run", "--set", "groups=2", "--set", "num_layers=7")
    assert page.drawn["figures"]["share"]["panels"][0]["low"] == []
    assert "means over the 2 groups of channels of a layer.</p>" in render(page)


def test_in_and_out_neighbours_have_no_common_response(tmp_path):
    quick = ["--set", "learning_rate=0.1"]
    page = trained(tmp_path / "run", "--set", "normalisation=directed", *quick)
    assert page.drawn["responses"] == []
    names = page.drawn["figures"]["share"]["panels"][0]["names"]
    assert names == ["layer 1, in", "layer 1, out", "layer 2, in", "layer 2, out"]
    assert "no graph frequencies in common" in render(page)


def test_a_graph_without_edges_is_said(tmp_path):
    page = trained(tmp_path / "run", "--dataset", "csbm:num_nodes=200,degree=0.001")
    assert list(page.drawn["figures"]) == ["loss", "reliability"]
    assert 'id="signals"' not in render(page)
    assert page.drawn["responses"] == []
    assert "The graph has no edges: every kernel is the identity." in render(page)


def test_hostile_class_names_are_shown_as_text(tmp_path, monkeypatch):
    load = RunPlan.load

    def load_hostile(self, *where, **tables):
        data = load(self, *where, **tables)
        return replace(data, class_names=(HOSTILE, *data.class_names[1:]))

    monkeypatch.setattr(RunPlan, "load", load_hostile)
    options = ["--dataset", "csbm:num_nodes=200", "--set", "epochs=5"]
    assert main(["train", *options, "--out", str(tmp_path / "run")]) == 0
    head = render(run_page(tmp_path / "run")).partition('id="packed-drawn"')[0]
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
    with pytest.raises(DataError, match="has changed since the run was trained"):
        run_page(folder)


def test_epochs_that_do_not_fit_are_refused(run, tmp_path):
    folder = damaged(run, tmp_path, lambda c: c["result"].update(best_epoch=0))
    with pytest.raises(CheckpointError, match="damaged"):
        run_page(folder)


def test_the_commonest_mistakes_come_first():
    table = [[5, 1, 0], [0, 9, 3], [2, 0, 0]]
    assert confusions_of(table) == [(3, 1, 2), (2, 2, 0), (1, 0, 1)]
    assert confusions_of([[4, 0], [0, 2]]) == []
