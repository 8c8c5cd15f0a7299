import json
from dataclasses import replace

import pytest

from akgnn.bench.record import (
    BOTH,
    FORWARD,
    BenchRecord,
    newest,
    read_records,
    write_record,
)
from akgnn.errors import RunFolderError
from akgnn.files import json_text, parse_json
from bench_data import CARD, MACHINE, epoch_case, full_record, growth_case, layer_case, record


def test_a_record_reads_as_it_was_written(tmp_path):
    kept = full_record()
    file = write_record(kept, tmp_path)
    assert file.name == "20260102030405-a-processor-2-threads.json"
    assert read_records(tmp_path).records == (kept,)
    assert read_records(tmp_path).skipped == ()
    assert len(json.loads(file.read_text())["cases"][0]["timed"][0]["seconds"]) == 3


def test_a_run_has_one_file_however_often_it_is_written(tmp_path):
    first = record(layer_case())
    write_record(first, tmp_path)
    write_record(replace(first, cases=(layer_case(), epoch_case())), tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    assert len(read_records(tmp_path).records[0].cases) == 2


def test_shares_are_of_the_copys_bandwidth():
    case = layer_case()
    # The median of its copies, not the mean.
    assert case.bandwidth == pytest.approx(1e9)
    shares = [
        case.share(case.find(name, task))
        for name in ("akgnn", "torch CSR")
        for task in (FORWARD, BOTH)
    ]
    # Backward is one more product.
    assert shares == pytest.approx([0.5, 0.5, 0.25, 0.25])
    assert case.share(case.find("PyG scatter", BOTH)) is None


def test_a_card_goes_by_its_name_and_a_processor_with_its_threads():
    assert record(machine=CARD).device == "A Card"
    assert record().device == "A Processor, 2 threads"
    assert record(machine={**MACHINE, "threads": 1}).device == "A Processor, 1 thread"


def test_the_newest_record_of_each_device_counts(tmp_path):
    later = {**MACHINE, "began": "2026-02-02T03:04:05+00:00"}
    latest = {**MACHINE, "began": "2026-03-02T03:04:05+00:00"}
    old = record(growth_case(10**4), epoch_case())
    new = record(growth_case(10**5), machine=later)
    card = record(growth_case(10**6), machine=CARD)
    failed = replace(growth_case(10**7), timed=(), error="does not fit")
    for each in (new, old, card, record(failed, machine=latest)):
        write_record(each, tmp_path)
    contents = read_records(tmp_path)
    assert newest(contents, "growth") == [card, new]
    assert newest(contents, "epoch") == [old]
    assert newest(contents, "layer") == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "another"}, "not written by this version"),
        ({"environment": {}}, "'device' is missing"),
        ({"repetitions": -1}, "not an integer"),
        ({"versions": {"torch": "\x1b[31m"}}, "not printable"),
        ({"cases": [{}]}, "'suite' is missing"),
        ({"cases": 3}, "cases is 3, not a list"),
    ],
)
def test_foreign_files_are_skipped_and_named(tmp_path, change, says):
    content = {**full_record().to_dict(), **change}
    (tmp_path / "a.json").write_text(json.dumps(content))
    contents = read_records(tmp_path)
    assert contents.records == ()
    (line,) = contents.skipped
    assert "a.json was skipped: " in line
    assert says in line


def test_a_torn_file_is_skipped(tmp_path):
    file = write_record(full_record(), tmp_path)
    file.write_text(file.read_text()[:100])
    assert len(read_records(tmp_path).skipped) == 1


def test_no_folder_has_no_records(tmp_path):
    assert read_records(tmp_path / "no").records == ()


def test_unknown_suites_are_foreign():
    content = parse_json(json_text(full_record().to_dict()))
    content["cases"][0]["suite"] = "other"
    with pytest.raises(ValueError, match="suite is 'other', not one of layer, epoch, growth"):
        BenchRecord.from_dict(content)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RunFolderError, match=r"Cannot write .*none"):
        write_record(full_record(), tmp_path / "none")
