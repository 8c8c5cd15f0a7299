from akgnn.experiments.results import collect
from akgnn.report.findings import findings_of
from akgnn.report.tables import table_of
from report_data import FIRST, SECOND, table_records, table_spec


def finding_of(tmp_path, keep=lambda record: True):
    spec = table_spec(tmp_path)
    records = [record for record in table_records(spec) if keep(record)]
    return findings_of([table_of(spec, collect(spec, records))])


def test_sentences_count_verdicts_and_published_values(tmp_path):
    (finding,) = finding_of(tmp_path)
    assert finding.title == "Three methods"
    # Six seeds of which all differ the same way: Wilcoxon's least p is 1/32, twice that by Holm.
    assert finding.sentences[0] == (
        f"On {FIRST}, of 2 other rows, AKGNN is neither higher nor lower than any; "
        "for 2 no difference is shown."
    )
    assert finding.sentences[-1].startswith("Of 2 published values, 0 lie inside the 95 %")
    assert "1 above and 0 below" in finding.sentences[-1]


def test_one_comparison_alone_needs_no_correction(tmp_path):
    (finding,) = finding_of(tmp_path, lambda r: r.plan.which.model != "sgc")
    assert finding.sentences[0] == f"On {FIRST}, of 1 other row, AKGNN is higher than 1."
    # Five common seeds: 1/16 at best.
    assert "no difference is shown" in finding.sentences[1]


def test_one_seed_compares_nothing(tmp_path):
    (finding,) = finding_of(tmp_path, lambda r: r.seed == 0)
    assert finding.sentences == (
        f"On {FIRST} there are too few common seeds to compare.",
        f"On {SECOND} there are too few common seeds to compare.",
    )


def test_nothing_finished_says_nothing(tmp_path):
    assert finding_of(tmp_path, lambda r: not r.is_finished) == []
