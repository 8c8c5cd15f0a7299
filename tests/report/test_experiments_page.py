import re
import shutil
from dataclasses import replace

import pytest

from akgnn.errors import RunFolderError
from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import load_spec, read_spec
from akgnn.experiments.store import RecordStore
from akgnn.report.experiments_page import experiments_page, findings_of, run_times_of
from akgnn.report.html import render
from akgnn.report.response import Spectrum
from akgnn.report.tables import table_of
from report_data import (
    FIRST,
    HOSTILE,
    SECOND,
    VERSIONS,
    record_of,
    table_records,
    table_spec,
    write_specs,
)


def test_own_experiments_are_shown_in_their_order(results, spec_files):
    page = experiments_page(results, spec_files)
    assert page.counts["experiments"] == ["mine", "myloss", "mylambda", "mydepth"]
    assert list(page.drawn["figures"]) == ["myloss", "mylambda", "mydepth"]
    assert page.shown["summary"]["versions"] == VERSIONS
    assert page.shown["summary"]["failed"] == 1


def test_benchmarks_beside_the_records_are_shown(speed_results, spec_files):
    page = experiments_page(speed_results, spec_files)
    assert list(page.drawn["figures"]) == ["myloss", "mylambda", "mydepth", "speed-curves"]
    assert len(page.shown["speed"].tables) == 4
    html = render(page)
    assert 'href="#speed"' in html
    assert "One adaptive layer: A Card" in html


def test_without_benchmarks_nothing_is_said_of_speed(results, spec_files):
    page = experiments_page(results, spec_files)
    assert page.shown["speed"] is None
    assert 'href="#speed"' not in render(page)


def test_a_damaged_benchmark_is_named(tmp_path, speed_results, spec_files):
    folder = tmp_path / "copy"
    shutil.copytree(speed_results, folder)
    (folder / "bench" / "torn.json").write_text("{")
    page = experiments_page(folder, spec_files)
    assert any("torn.json was skipped" in line for line in page.warnings)
    assert len(page.shown["speed"].tables) == 4


def test_the_torn_line_is_named(results, spec_files):
    page = experiments_page(results, spec_files)
    assert page.shown["skipped"] == page.warnings
    assert "it breaks off in the middle" in page.warnings[0]


def test_the_papers_experiments_come_in_its_order(tmp_path, monkeypatch):
    exact = Spectrum((0.0, 2.0), (1.0,), True)
    monkeypatch.setattr("akgnn.report.response.spectrum_of", lambda graph: exact)
    store = RecordStore(tmp_path)
    for name in ("splits", "depth", "ablation", "table1"):
        cell = next(c for c in load_spec(name).cells if c.dataset == "cora")
        store.append(record_of(cell, 0, 80.0))
    page = experiments_page(tmp_path)
    # What is measured for the depths is measured for λ too; for the loss, epochs are missing. The
    # table of kernels and others have a row of table 1, and come after the paper's.
    first, others = page.counts["experiments"][:5], page.counts["experiments"][5:]
    assert first == ["table1", "ablation", "lambda", "depth", "splits"]
    assert others == sorted(others)
    assert {"kernels", "searched"} <= set(others)
    assert page.shown["commands"][0] == f"akgnn reproduce table1 --out {tmp_path.name}"


def test_a_folder_without_readable_records_is_refused(tmp_path):
    (tmp_path / "records.jsonl").write_text("{}\n")
    with pytest.raises(RunFolderError, match="holds no records that can be read"):
        experiments_page(tmp_path)


def test_records_of_unknown_experiments_are_refused(results):
    with pytest.raises(RunFolderError, match="`spec` adds one of your own"):
        experiments_page(results)


def finding_of(tmp_path, keep=lambda record: True):
    spec = table_spec(tmp_path)
    records = [record for record in table_records(spec) if keep(record)]
    return findings_of([table_of(spec, collect(spec, records))])


def test_sentences_count_verdicts_and_published_values(tmp_path):
    (finding,) = finding_of(tmp_path)
    assert finding.title == "Three methods"
    assert finding.sentences[0] == (
        f"On {FIRST}, of 2 other rows, AKGNN is higher than 1 and lower than 1."
    )
    assert finding.sentences[-1].startswith("Of 2 published values, 0 lie inside the 95 %")
    assert "1 above and 0 below" in finding.sentences[-1]


def test_few_runs_show_no_difference_in_a_family(tmp_path):
    (finding,) = finding_of(tmp_path, lambda r: r.seed < 4)
    # Four runs each that lie apart: the least p of Mann and Whitney is 2/70, twice that by Holm.
    assert finding.sentences[0] == (
        f"On {FIRST}, of 2 other rows, AKGNN is neither higher nor lower than any; "
        "for 2 no difference is shown."
    )


def test_one_comparison_alone_needs_no_correction(tmp_path):
    (finding,) = finding_of(tmp_path, lambda r: r.plan.run.model != "sgc" and r.seed < 4)
    assert finding.sentences[0] == f"On {FIRST}, of 1 other row, AKGNN is higher than 1."
    # Three runs each: 1/10 at best.
    (finding,) = finding_of(tmp_path, lambda r: r.plan.run.model != "sgc" and r.seed < 3)
    assert "no difference is shown" in finding.sentences[0]


def test_the_page_says_which_runs_were_compared(results, spec_files):
    page = experiments_page(results, spec_files)
    html, opened = render(page), "\n".join(page.data["texts"])
    assert "runs unpaired, 6 and 5; corrected p" in opened
    assert "runs paired, 6" not in opened
    for test in ("paired t-test", "Wilcoxon’s", "Welch’s t-test", "Mann and Whitney"):
        assert test in html


def test_every_cell_of_a_table_has_its_heading(results, spec_files):
    html = render(experiments_page(results, spec_files))
    tables = re.findall(r'<table class="results".*?</table>', html, flags=re.S)
    assert tables
    for table in tables:
        headings = len(re.findall("<th ", re.search("<thead>.*?</thead>", table, re.S)[0]))
        rows = re.findall(
            r"<tr(?! class=\"detail\")[^>]*>(.*?)</tr>", table.split("</thead>")[1], re.S
        )
        assert {len(re.findall("<t[dh][ >]", row)) for row in rows} == {headings}


def test_the_page_begins_with_sentences_a_matrix_and_a_figure(results, spec_files):
    page = experiments_page(results, spec_files)
    assert [sentence.question for sentence in page.shown["story"]] == ["What is best where?"]
    assert page.shown["matrix"].name == "mine"
    assert page.shown["first_figure"].name == "myloss"
    assert list(page.shown["groups"]) == ["Your own experiments"]
    html = render(page)
    places = [html.index(part) for part in ('class="story"', 'class="matrix"', 'class="group"')]
    assert places == sorted(places)


def test_figures_alone_make_a_page_too(homophily_results, homophily_file):
    page = experiments_page(homophily_results, [homophily_file])
    assert (page.shown["story"], page.shown["matrix"]) == ([], None)
    assert page.shown["first_figure"].kind == "homophily"
    # One experiment is nothing to fold away.
    assert page.shown["unfolds"]
    assert '<details id="myhomophily" class="fold figure" open>' in render(page)


def test_a_single_record_makes_a_page(tmp_path):
    spec_file = write_specs(tmp_path)[0]
    record = table_records(read_spec(spec_file))[0]
    RecordStore(tmp_path).append(record)
    html = render(experiments_page(tmp_path, [spec_file]))
    assert "AKGNN has 80.0 % on csbm:num_nodes=60." in html


def test_memory_of_runs_side_by_side_says_so(tmp_path):
    spec = table_spec(tmp_path)
    records = [
        replace(r, environment={**r.environment, "side_by_side": 20}) if r.is_finished else r
        for r in table_records(spec)
    ]
    (times,) = run_times_of([table_of(spec, collect(spec, records))])
    assert times.rows[0].times[0].held == "102 MiB for 20 together"


def test_one_seed_compares_nothing(tmp_path):
    (finding,) = finding_of(tmp_path, lambda r: r.seed == 0)
    assert finding.sentences == (
        f"On {FIRST} there are too few runs to compare.",
        f"On {SECOND} there are too few runs to compare.",
    )


def test_nothing_finished_says_nothing(tmp_path):
    assert finding_of(tmp_path, lambda r: not r.is_finished) == []


def test_medians_by_method_and_graph(tmp_path):
    spec = table_spec(tmp_path)
    records = [r for r in table_records(spec) if r.is_finished]
    (times,) = run_times_of([table_of(spec, collect(spec, records))])
    assert [row.label for row in times.rows] == ["AKGNN", "GCN", HOSTILE]
    assert {row.device for row in times.rows} == {"cpu, 2 threads"}
    first, second = times.rows[1].times
    assert (first.seconds, second.seconds) == (3.5, 3.0)


def test_devices_are_kept_apart(tmp_path):
    spec = table_spec(tmp_path)
    records = [r for r in table_records(spec) if r.is_finished and r.plan.run.model == "gcn"]
    other = replace(records[0], environment={"device": "a card", "threads": 1}, seconds=0.25)
    (times,) = run_times_of([table_of(spec, collect(spec, [other, *records[1:]]))])
    assert [row.device for row in times.rows] == ["a card, 1 thread", "cpu, 2 threads"]
    assert times.rows[0].times[0].seconds == 0.25
    assert times.rows[0].times[1] is None


def test_a_table_of_failures_has_none(tmp_path):
    spec = table_spec(tmp_path)
    records = [r for r in table_records(spec) if not r.is_finished]
    assert run_times_of([table_of(spec, collect(spec, records))]) == []
