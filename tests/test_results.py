"""Numbers in the documents stand in the records, and the records are what they should be."""

import importlib.util
import itertools
import json
import re
from collections import Counter
from pathlib import Path
from statistics import correlation, fmean

import pytest

from akgnn.bench.record import BenchContents, read_records
from akgnn.data.catalogue import graph_name
from akgnn.experiments import SPECS
from akgnn.experiments.results import collect, is_paired
from akgnn.experiments.spec_files import load_spec, read_spec
from akgnn.experiments.statistics import agreement, summarise
from akgnn.experiments.store import RecordStore
from akgnn.report.speed_documents import plot_files
from akgnn.runs.plan import FOR_ANY_GRAPH, RunPlan, RunSettings
from akgnn.runs.presets import load_preset
from bench_data import full_record

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def benchmarks():
    return read_records(ROOT / "results" / "bench")


@pytest.fixture(scope="module")
def tool():
    file = ROOT / "tools" / "update_tables.py"
    spec = importlib.util.spec_from_file_location("update_tables", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "docs/choosing.md",
        "docs/reproduction.md",
        "docs/kernels.md",
        "docs/performance.md",
    ],
)
def test_every_table_is_what_the_records_give(tool, name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "<!-- table " in text
    assert tool.updated(text) == text


def test_a_changed_number_would_be_seen(tool):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert tool.updated(text.replace(" ± ", " ± 9")) == text


def test_every_plot_is_what_the_records_give_and_none_is_left_over(tool):
    kept = {file.name: file.read_text(encoding="utf-8") for file in tool.PLOTS.glob("*")}
    assert kept == tool.plots()


def test_every_figure_of_the_paper_is_drawn(tool, benchmarks):
    names = set(tool.plots()) - set(plot_files(benchmarks))
    figures = {name.partition("-")[0].removesuffix(".svg") for name in names}
    assert figures == {"idea", "loss", "lambda", "depth", "homophily"}


def test_all_benchmarks_can_be_read(benchmarks):
    assert benchmarks.skipped == ()


def test_plots_follow_the_records(tool, tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "PLOTS", tmp_path / "plots")
    monkeypatch.setattr(tool, "DOCUMENTS", ())
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool.sys, "argv", ["update_tables.py"])
    monkeypatch.setattr(tool, "benchmarks", lambda: BenchContents((full_record(),), ()))
    assert tool.main() == 0
    files = sorted(tmp_path.glob("plots/*.svg"))
    # Two of the benchmark and two of the idea.
    assert len(files) == 4
    files[0].write_text("another")
    (tmp_path / "plots" / "old.svg").write_text("of a record that is gone")
    monkeypatch.setattr(tool.sys, "argv", ["update_tables.py", "--check"])
    assert tool.main() == 1
    monkeypatch.setattr(tool.sys, "argv", ["update_tables.py"])
    assert tool.main() == 0
    assert sorted(tmp_path.glob("plots/*.svg")) == files
    assert files[0].read_text(encoding="utf-8").startswith("<svg")


def test_all_records_can_be_read_and_none_failed():
    contents = RecordStore(ROOT / "results").read()
    assert contents.skipped == ()
    assert [record.error for record in contents.records if record.error] == []


@pytest.mark.parametrize("name", SPECS)
def test_every_cell_has_its_seeds_on_its_split(tool, name):
    fingerprints = {
        "cora": "public:76754223",
        "citeseer": "public:e00f197c",
        "pubmed": "public:c84f40d1",
    }
    for result in collect(load_spec(name), tool.records("results")):
        cell = result.cell
        # A cell that another experiment shares may have more.
        assert set(range(cell.row.seeds)) <= set(result.scores), (cell.row.label, cell.dataset)
        for record in result.finished:
            found, which = record.data.split, record.plan.run
            if which.split is not None and which.split.startswith("public"):
                assert found.startswith(f"{which.split}:")
            elif not cell.splits and cell.dataset in fingerprints:
                assert found == fingerprints[cell.dataset]
            else:
                assert found.startswith("random-")


@pytest.mark.parametrize(
    "file", sorted((ROOT / "results" / "search").glob("*.toml")), ids=lambda f: f.stem
)
def test_searches_did_not_see_the_test_nodes(tool, file):
    spec = read_spec(file)
    assert spec.is_search
    results = collect(spec, tool.records("results/search"))
    for result in results:
        assert result.finished, (result.cell.row.label, result.cell.dataset)
        assert all(
            record.is_search and record.test_accuracy != record.test_accuracy
            for record in result.finished
        )


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_akgnn_consistency_is_the_best_that_its_search_found(name):
    lines = (ROOT / "results" / "search" / "consistency.jsonl").read_text().splitlines()
    found = [row for row in map(json.loads, lines) if row["dataset"] == name]
    assert not any("test" in key for row in found for key in row)
    # An accuracy that chose its own epoch says less than one that did not, unless the loss agrees.
    others = [row for row in found if row["set"].get("stop_on") != "accuracy"]
    lowest = min(row["val_loss"] for row in others)
    fair = [*others, *(row for row in found if row not in others and row["val_loss"] < lowest)]
    best = max(fair, key=lambda row: (row["val_accuracy"], -row["val_loss"]))
    plan = RunPlan.make(RunSettings(dataset=name), best["set"], is_study=True)
    preset = load_preset("akgnn", "akgnn-consistency", name)
    learning = ("phi_weight_decay", "phi_sees_masks")
    # How φ would learn says nothing where it is fixed.
    same = {} if preset.model.learn_lambda else dict(zip(learning, (0.01, True), strict=True))
    assert plan.preset == preset.updated(same)


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_the_comparison_of_biases_is_that_of_its_records(name):
    text = (ROOT / "docs" / "reproducing.md").read_text(encoding="utf-8")
    file = ROOT / "results" / "search" / "biases" / f"{name}-decay-biases.json"
    record = json.loads(file.read_text())
    assert f"{record['mean']:.2f} ± {record['std']:.2f}" in text


def test_the_table_of_mixed_tables_is_what_its_scores_give():
    scores = {}
    for line in (ROOT / "results" / "mixed-tables.jsonl").read_text().splitlines():
        found = json.loads(line)
        scores.setdefault((found["table"], found["method"]), []).append(found["accuracy"])
    mean = {key: sum(values) / len(values) for key, values in scores.items()}
    text = (ROOT / "docs" / "own-data.md").read_text(encoding="utf-8")
    lines = text.partition("## How good is the default?")[2].partition("\n## ")[0].splitlines()
    (_, *head), _, *rows = [[*line.strip("| ").split(" | ")] for line in lines if line[:1] == "|"]
    others = {"GCN": ("gcn", "gcn (paper)")}
    worst = 0.0
    assert len(rows) == 9
    for table, *cells in rows:
        best = max(value for (name, _), value in mean.items() if name == table)
        worst = max(worst, best - mean[table, "default"])
        ours = [m for t, m in mean if t == table and (m[:5] == "akgnn" or m in ("mlp", "appnp"))]
        for name, cell in zip(head, cells, strict=True):
            methods = ours if name == "best single preset" else others.get(name, (name,))
            # Of equal means the one over more splits.
            method = max(
                methods, key=lambda each: (round(mean[table, each], 2), len(scores[table, each]))
            )
            is_single = len(scores[table, method]) == 1
            assert cell.split()[0] == f"{mean[table, method]:.1f}{'†' * is_single}", (table, name)
    assert worst < 0.9


def test_the_table_of_calibration_is_what_its_lines_give():
    file = ROOT / "benchmarks" / "votes.py"
    spec = importlib.util.spec_from_file_location("votes_benchmark", file)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    found = {}
    for line in map(json.loads, (ROOT / "results" / "votes.jsonl").read_text().splitlines()):
        found.setdefault(graph_name(line["dataset"]), []).append(line)
        assert sum(line["weights"].values()) == pytest.approx(1, abs=1e-3)
        assert set(line["weights"]) <= set(line["presets"])
        assert set(line["presets"]) == {*FOR_ANY_GRAPH, "mlp"}
    text = (ROOT / "docs" / "seeing-why.md").read_text(encoding="utf-8")
    rows = text.partition("| graph | splits | nodes |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(rows) == len(found)
    for row in rows:
        name, *cells = row.strip("| ").split(" | ")
        error, chance = benchmark.pooled(found[name])
        nodes = sum(line["nodes"] for line in found[name] if line.get("repeat", 0) == 0)
        splits = len({line["number"] for line in found[name]})
        assert cells == [str(splits), str(nodes), f"{error:.1f}", f"{chance:.1f}"]


def test_the_two_mlps_in_the_vote_are_compared_as_their_lines_say():
    found = {}
    for line in map(json.loads, (ROOT / "results" / "votes-mlp.jsonl").read_text().splitlines()):
        which = "old" if "mlp, any-graph" in line["presets"] else "new"
        for score in ("vote", "log_loss"):
            found.setdefault((which, line["dataset"], score), []).append(line[score])
    mean = {key: fmean(values) for key, values in found.items()}
    few = {graph for _, graph, _ in mean} - {"texas", "cornell"}
    assert len(few) == 5

    def told(graphs, score, digits):
        values = (fmean(mean[which, g, score] for g in graphs) for which in ("new", "old"))
        return [f"{value:.{digits}f}" for value in values]

    text = " ".join((ROOT / "docs" / "choosing.md").read_text(encoding="utf-8").split())
    assert told(few, "log_loss", 3) == ["1.000", "1.000"]
    for sentence, graphs, score, digits in (
        ("in accuracy {} and {}, in log loss 1.000 twice", few, "vote", 1),
        ("On Cornell the new one has {} for {},", ["cornell"], "vote", 1),
        ("log loss {} for {}, on Texas", ["cornell"], "log_loss", 3),
        ("on Texas {} for {} and", ["texas"], "vote", 1),
        ("and {} for {}; those were looked at afterwards", ["texas"], "log_loss", 3),
    ):
        assert sentence.format(*told(graphs, score, digits)) in text


def test_the_table_of_ensembles_is_what_its_lines_give():
    found = {}
    for line in (ROOT / "results" / "ensembles.jsonl").read_text().splitlines():
        ensemble = json.loads(line)
        name = f"{ensemble['model'].upper()}, {graph_name(ensemble['dataset'])}"
        found.setdefault(name, []).append(ensemble)
    text = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    lines = text.partition("| model, graph | ensembles |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(lines) == len(found)
    for line in lines:
        name, *cells = line.strip("| ").split(" | ")
        ensembles = found[name]
        seeds = [each["number"] for each in ensembles]
        assert len(set(seeds)) == len(seeds)

        def both(score, ensembles=ensembles):
            alone = [fmean(each[f"member_test_{score}"]) for each in ensembles]
            return alone, [each[f"test_{score}"] for each in ensembles]

        alone, together = both("accuracy")
        summary = summarise([b - a for a, b in zip(alone, together, strict=True)])
        low, high = summary.ci95
        losses = [f"{fmean(values):.3f}" for values in both("log_loss")]
        assert cells == [
            str(len(ensembles)),
            f"{fmean(alone):.2f}",
            f"{fmean(together):.2f}",
            f"{summary.mean:+.2f} [{low:+.2f}, {high:+.2f}]",
            *losses,
        ]


def test_a_table_may_be_of_some_rows_and_by_another_metric(tool):
    head, _, *rows = tool.table("medium by calibration_error: MLP; MLP, tuned").splitlines()
    assert head.startswith("| method | Photo, calibration error | ")
    assert [row.split(" | ")[0] for row in rows] == ["| MLP", "| MLP, tuned"]
    assert tool.table("compare splits").startswith("| AKGNN minus | runs | Cora | ")


def test_a_table_may_be_turned(tool):
    head, _, *rows = tool.table("turned splits: AKGNN; GCN").splitlines()
    assert head == "| graph | AKGNN | GCN |"
    assert [row.split(" | ")[0] for row in rows] == ["| Cora", "| CiteSeer", "| PubMed"]
    plain = tool.table("splits: AKGNN; GCN")
    assert rows[0].split(" | ")[1] == plain.splitlines()[2].split(" | ")[1]
    compared = tool.table("turned compare splits: AKGNN; GCN").splitlines()
    assert compared[0] == "| AKGNN minus | GCN |"
    assert compared[2].startswith("| runs | paired, ")


def test_energies_were_measured_for_every_depth_readout_and_kind_of_scalar(tool):
    lines = (ROOT / "results" / "energy.jsonl").read_text(encoding="utf-8").splitlines()
    seeds = {}
    for line in map(json.loads, lines):
        key = line["num_layers"], line["readout"], line["learn_lambda"]
        seeds.setdefault(key, []).append(line["seed"])
        assert len(line["layers"]) == line["num_layers"] + 1
        # The last layer alone is what the classifier sees.
        assert line["readout"] == "sum" or line["energy"] == line["layers"][-1]
    assert set(seeds) == set(itertools.product((2, 5, 10, 20), ("sum", "last"), (True, False)))
    assert all(each == list(range(len(each))) and len(each) >= 2 for each in seeds.values())
    _, _, *rows = tool.table("energy energy").splitlines()
    assert len(rows) == 16


def test_scalars_by_epoch_are_means_over_the_runs_that_still_train(tool):
    (_, _, first, *_, last) = tool.table("trajectory loss: AKGNN").splitlines()
    (result,) = [
        each
        for each in collect(load_spec("loss"), tool.records("results"))
        if each.cell.row.label == "AKGNN"
    ]
    histories = [record.history.lambda_max for record in result.finished if record.history]
    assert first.split(" | ")[2:5] == ["1", str(len(histories)), "2.00"]
    still = [scalars[149][4] for scalars in histories if len(scalars) >= 150]
    assert last.strip("| ").split(" | ")[2:] == [
        "150",
        str(len(still)),
        *last.split(" | ")[4:8],
        f"{fmean(still):.2f}",
    ]


def test_the_count_of_published_values_is_what_the_records_give(tool):
    results = collect(load_spec("table1"), tool.records("results"))
    places = Counter(agreement(each.summary, each.cell.published.mean) for each in results)
    text = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    (counted,) = re.findall(
        r"Of the (\d+) published values (\d+) are inside, (\d+) within the spread, "
        r"(\d+) above and (\d+) below",
        text,
    )
    names = ("inside", "within the spread", "above", "below")
    assert [*map(int, counted)] == [len(results), *(places[name] for name in names)]


def test_seeds_go_together_on_fixed_splits_where_runs_are_paired_and_nowhere_else(tool):
    """The rule of `is_paired`, by the correlation of scores over the seeds that two rows share."""
    correlations = {True: [], False: []}
    for name in ("table1", "ablation", "kernels", "consistency"):
        results = collect(load_spec(name), tool.records("results"))
        for first, second in itertools.combinations(results, 2):
            common = sorted(first.scores.keys() & second.scores.keys())
            both = [[each.scores[seed] for seed in common] for each in (first, second)]
            # A model that gives every seed the same score goes with nothing.
            if first.cell.dataset == second.cell.dataset and all(map(_has_spread, both)):
                paired = is_paired(first.cell, second.cell)
                correlations[paired].append(correlation(*both))
    assert len(correlations[True]) > 20
    assert len(correlations[False]) > 200
    assert fmean(correlations[True]) > 0.4
    assert min(correlations[True]) > 0
    assert abs(fmean(correlations[False])) < 0.05


def _has_spread(scores):
    return max(scores) > min(scores)
