from dataclasses import replace

from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.experiments.tables import markdown_comparison, markdown_table
from report_data import table_records


def test_a_table_for_a_document(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(
        'title = "Small"\ndatasets = ["cora", "pubmed"]\nseeds = 4\n[vary]\nnum_layers = [2]\n'
        '[[rows]]\nlabel = "AKGNN"\nmodel = "akgnn"\npublished = { cora = 84.4 }\n'
        '[[rows]]\nlabel = "GCN"\nmodel = "gcn"\n'
    )
    spec = read_spec(file)
    records = [r for r in table_records(spec) if r.is_finished]
    results = collect(spec, records)
    lines = markdown_table(spec, results).splitlines()
    assert lines[:2] == ["|  | K | Cora | PubMed |", "| --- | --- | --- | --- |"]
    summary = results[0].summary
    assert lines[2].startswith(f"| AKGNN | 2 | {summary.mean:.1f} ± {summary.std:.1f} (84.4) | ")
    assert len(lines) == 4
    empty = markdown_table(spec, collect(spec, []))
    assert empty.splitlines()[2] == "| AKGNN | 2 | – | – |"
    comparison = markdown_comparison(results).splitlines()
    assert comparison[0] == "| AKGNN minus | Cora | PubMed |"
    assert comparison[2].startswith("| GCN | ")
    assert "[" in comparison[2]
    assert "higher" in comparison[2]


def test_a_data_set_may_go_by_another_metric(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(
        'title = "Small"\ndatasets = ["cora", "pubmed"]\nseeds = 4\n'
        'metric = { pubmed = "roc_auc" }\n'
        '[[rows]]\nlabel = "AKGNN"\nmodel = "akgnn"\n[[rows]]\nlabel = "GCN"\nmodel = "gcn"\n'
    )
    spec = read_spec(file)
    # The records of GCN are older than the metric.
    records = [
        replace(r, metrics={**r.metrics, "test_roc_auc": 90.0 + r.seed, "val_roc_auc": 95.0})
        if r.plan.which.model == "akgnn"
        else r
        for r in table_records(spec)
    ]
    results = collect(spec, records)
    assert list(results[1].scores.values()) == [90.0 + seed for seed in range(6)]
    assert results[1].val_score == 95.0
    head, _, akgnn, gcn = markdown_table(spec, results).splitlines()
    assert head == "|  | Cora | PubMed, ROC-AUC |"
    assert akgnn.endswith("| 92.5 ± 1.9 |")
    assert gcn.endswith("| – |")
    assert markdown_comparison(results).splitlines()[2].endswith("| – |")
