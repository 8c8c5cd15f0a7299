import math
from dataclasses import replace

import pytest

from akgnn.cli.show import (
    choice_object,
    folds_summary,
    kernel_columns,
    kernel_lines,
    print_choice,
    print_folds,
    print_run,
    print_seeds,
    seeds_summary,
)
from akgnn.report.words import NO_EDGES
from akgnn.runs.choice import Choice, Tried
from akgnn.runs.facts import DataFacts
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.run import Run
from akgnn.training.history import History
from akgnn.training.metrics import METRICS, Metric
from akgnn.training.result import FitResult
from akgnn.training.score import Score
from akgnn.training.state import RestartResult

SCORES = {
    "accuracy": 81.25,
    "balanced_accuracy": 79.04,
    "macro_f1": 78.55,
    "roc_auc": 91.0,
    "log_loss": 0.5124,
    "calibration_error": 3.0,
}
FACTS = DataFacts("csbm", 100, 10, 32, ("a", "b", "c"), "random:12345678", {})


def make(
    lambda_max=(),
    shares=(),
    restarts=(),
    *,
    model="akgnn",
    seed=0,
    classes=3,
    num_edges=10,
    accuracy=81.25,
    split=None,
    num_test=0,
    **changes,
):
    """A run that came to this, without any training."""
    layers = {"num_layers": 2} if model == "akgnn" else {}
    plan = RunPlan.make(
        RunSettings(dataset="csbm:num_nodes=100", model=model, seed=seed, split=split),
        {**layers, **changes},
    )
    facts = replace(FACTS, num_edges=num_edges, class_names=tuple("abc"[:classes]))
    scores = {f"{part}_{name}": v for part in ("test", "val") for name, v in SCORES.items()}
    scores |= {"test_accuracy": accuracy, "val_accuracy": 70.0, "val_roc_auc": 88.8}
    scores |= {"val_loss": 0.6, "train_accuracy": 99.0}
    result = FitResult(scores, 7, 12, 2.5, lambda_max, shares, restarts, History())
    return Run(plan, facts, replace(result, num_test=num_test))


def test_a_run_for_people(capsys):
    print_run(make((2.5, 1.25), (0.8, 0.9), num_test=48), "cpu")
    assert capsys.readouterr().out.splitlines() == [
        "csbm:num_nodes=100: 100 nodes, 10 edges, 32 features, 3 classes; split random:12345678",
        "akgnn (paper), seed 0, 2.5 s on cpu",
        "  test accuracy   81.2 %   (68 to 90 with 48 nodes)",
        "  test balanced   79.0 %   (macro F1 78.5 %)",
        "  test log loss   0.512    (calibration error 3.0 %, temperature 1.00)",
        "  validation      70.0 %   (best of 12 epochs: 7)",
        "  λ per layer     2.50  1.25",
    ]


def test_a_record_without_its_number_of_test_nodes_is_shown_without_interval(capsys):
    print_run(make(), "cpu")
    assert "\n  test accuracy   81.2 %\n" in capsys.readouterr().out


def test_seeds_of_one_split_share_its_test_nodes(capsys):
    runs = [make(seed=seed, num_test=48) for seed in (0, 1)]
    print_seeds(runs)
    said = "\nthe test nodes alone leave it open: 68 to 90 with 48 nodes\n"
    assert said in capsys.readouterr().out
    other = replace(runs[1].facts, split="random:87654321")
    print_seeds([runs[0], replace(runs[1], facts=other)])
    assert "leave it open" not in capsys.readouterr().out


def test_two_classes_have_a_roc_auc(capsys):
    print_run(make(classes=2), "cpu")
    assert "\n  test ROC-AUC    91.0 %   (validation 88.8 %)\n" in capsys.readouterr().out
    print_seeds([make(classes=2), make(classes=2, seed=1)])
    said = "test ROC-AUC 91.00 ± 0.00 %, 95 % interval of the mean 91.00 to 91.00\n"
    assert capsys.readouterr().out.endswith(said)


def test_the_roc_auc_of_more_classes_is_for_machines(capsys):
    print_run(make(), "cpu")
    print_seeds([make(), make(seed=1)])
    assert "ROC-AUC" not in capsys.readouterr().out
    assert seeds_summary([make()])["runs"][0]["test_roc_auc"] == 91.0


def test_a_metric_of_ones_own_is_shown(monkeypatch, capsys):
    monkeypatch.setitem(METRICS, "kappa", Metric(lambda logits, y: 0.0, "kappa", 2))
    run = make()
    scores = {**run.result.scores, "test_kappa": 61.5}
    print_run(replace(run, result=replace(run.result, scores=scores)), "cpu")
    assert "\n  test kappa      61.50 %\n" in capsys.readouterr().out


@pytest.mark.parametrize(("model", "times"), [("akgnn", 1), ("gcn", 0)])
def test_without_edges_a_model_with_kernels_says_so(model, times, capsys):
    alone = make(model=model, num_edges=0)
    print_run(alone, "cpu")
    assert capsys.readouterr().out.count(NO_EDGES) == times
    print_seeds([alone, alone])
    assert capsys.readouterr().out.count(NO_EDGES) == times
    print_run(make(model=model), "cpu")
    assert NO_EDGES not in capsys.readouterr().out


def test_several_seeds_for_people(capsys):
    print_seeds([make((2.5, 1.25), seed=2, accuracy=80.0), make((2.0, 1.0), seed=3, accuracy=82.0)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:4] == [
        "seed  test %  validation %  best epoch  seconds  λ per layer",
        "2       80.0          70.0           7      2.5   2.50  1.25",
        "3       82.0          70.0           7      2.5   2.00  1.00",
    ]
    # t of one degree of freedom is 12.706, times sqrt(2) / sqrt(2).
    assert lines[4] == (
        "akgnn (paper): test accuracy 81.00 ± 1.41 % over 2 seeds, "
        "95 % interval of the mean 68.29 to 93.71"
    )


def test_several_seeds_in_one_object():
    summary = seeds_summary([make(seed=2, accuracy=80.0), make(seed=3, accuracy=82.0)])
    assert [run["seed"] for run in summary["runs"]] == [2, 3]
    assert (summary["mean"], summary["std"]) == (81.0, pytest.approx(math.sqrt(2)))
    assert summary["ci95"] == pytest.approx([81 - 12.7062, 81 + 12.7062])
    assert (summary["dataset"], summary["split"]) == ("csbm:num_nodes=100", "random:12345678")
    assert math.isnan(seeds_summary([make(accuracy=math.nan), make()])["mean"])


def folds():
    accuracies = enumerate((70.0, 80.0, 90.0))
    return [make(split=f"fold-{fold}-of-3", accuracy=value) for fold, value in accuracies]


def test_folds_for_people(capsys):
    print_folds(folds(), "cpu")
    first, head, *rows, last = capsys.readouterr().out.splitlines()
    assert first.endswith("3 classes; 3 folds of split seed 0")
    assert head.split()[:3] == ["fold", "test", "%"]
    assert [row.split()[:2] for row in rows] == [
        ["0", "70.0"],
        ["1", "80.0"],
        ["2", "90.0"],
        ["mean", "80.0"],
        ["±", "10.0"],
    ]
    assert max(map(len, [head, *rows])) <= 110
    assert last.endswith("on cpu: test accuracy 80.00 ± 10.00 % over 3 folds")


def test_folds_in_one_object():
    shown = folds_summary(folds())
    assert (shown["folds"], shown["mean"], shown["std"]) == (3, 80.0, 10.0)
    assert shown["scores"]["test_log_loss"] == {"mean": pytest.approx(0.5124), "std": 0.0}
    assert [run["test_accuracy"] for run in shown["runs"]] == [70.0, 80.0, 90.0]


def choice():
    simple, failed, best = (make(model=name).plan for name in ("mlp", "gcn", "akgnn"))
    tried = (
        Tried(simple, 0.6, 79.0, 5, 0.5),
        Tried(failed, error="It diverged."),
        Tried(best, 0.5, 78.0, 7, 1.25),
    )
    return Choice(Score.of("loss"), tried, tried[2])


def test_a_choice_for_people(capsys):
    print_choice(choice())
    assert capsys.readouterr().out.splitlines() == [
        "model          validation loss  validation %  epochs  seconds",
        "mlp (paper)             0.6000          79.0       5      0.5",
        "gcn (paper)             failed             –       0      0.0",
        "akgnn (paper)           0.5000          78.0       7      1.2  chosen",
        f"Chosen: {choice().why}",
        "",
    ]


def test_a_vote_for_people(capsys):
    print_choice(replace(choice(), weights=(0.3, 0.0, 0.7)), votes=True)
    assert capsys.readouterr().out.splitlines() == [
        "model          validation loss  validation %  epochs  seconds  vote",
        "mlp (paper)             0.6000          79.0       5      0.5  30 %",
        "gcn (paper)             failed             –       0      0.0",
        "akgnn (paper)           0.5000          78.0       7      1.2  70 %",
        f"Best alone: {choice().why}",
        "",
    ]


def test_a_choice_in_one_object():
    shown = choice_object(choice())
    assert (shown["model"], shown["preset"], shown["score"]) == ("akgnn", "paper", "val_loss")
    assert [tried["model"] for tried in shown["tried"]] == ["mlp", "gcn", "akgnn"]
    assert shown["tried"][1]["error"] == "It diverged."
    assert shown["votes"] == [{"model": "akgnn", "preset": "paper", "weight": 1.0}]


def test_a_kernel_with_lambda_shows_it_alone():
    shown = make((2.5, 1.25), (0.8, 0.9))
    assert kernel_lines(shown) == [("λ per layer", "2.50  1.25")]
    assert kernel_columns([shown, shown]) == {"λ per layer": ["2.50  1.25"] * 2}


def test_a_signed_kernel_shows_its_start_tau_and_shares():
    restarts = (
        RestartResult("GCN, fixed", 1, 1.0, 50.0, False),
        RestartResult("1", 1, 0.9, 50.0, True),
    )
    shown = make((), (0.5, -0.25), restarts, kernel="signed")
    assert kernel_lines(shown) == [
        ("start", "1; best of 2 by validation"),
        ("τ per layer", "1.00  −0.33"),
        ("neighbours", "0.50  −0.25"),
    ]
    assert kernel_columns([shown]) == {"start": ["1"], "τ per layer": ["1.00  −0.33"]}


def test_directions_and_groups_have_a_line_each():
    directed = {"kernel": "signed", "kernel_start": 1.0, "normalisation": "directed"}
    shown = make((), (0.25, -0.5, 0.0, 0.5), **directed)
    # Of the first layer a quarter is left of the node itself, of the second a half.
    assert kernel_lines(shown) == [
        ("τ, in", "1.00  0.00"),
        ("τ, out", "−2.00  1.00"),
        ("neighbours, in", "0.25  0.00"),
        ("neighbours, out", "−0.50  0.50"),
    ]
    # A table of several runs has no room for them.
    assert kernel_columns([shown]) == {}
    grouped = make((1.5, 2.5, 3.5, 4.5), (0.5,) * 4, groups=2)
    assert kernel_lines(grouped) == [("λ, group 1", "1.50  3.50"), ("λ, group 2", "2.50  4.50")]


def test_many_groups_are_summed_up():
    values = tuple(2.0 + k / 8 for k in range(16))
    assert kernel_lines(make(values, (0.5,) * 16, groups=8)) == [("λ", "2.00 to 3.88, 8 a layer")]


def test_a_model_without_kernels_shows_nothing():
    shown = make(model="sgc")
    assert kernel_lines(shown) == []
    assert kernel_columns([shown]) == {}
