import json
import math
from dataclasses import replace

import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.experiments.record import Record, failed_record
from report_data import record_of, table_spec


@pytest.fixture
def record(tmp_path):
    return record_of(table_spec(tmp_path).cells[0], 3, 81.25, history=True)


def test_a_line_read_again_is_the_same_record(record):
    line = record.to_line()
    assert "\n" not in line
    again = Record.from_line(line)
    assert (again.plan, again.seed, again.test_accuracy) == (record.plan, 3, 81.25)
    assert again.lambda_max == (2.5, 2.0, 1.5)
    assert again.data == record.data
    assert Record.from_line(again.to_line()) == again


def test_numbers_are_cut_and_what_is_none_is_null(record):
    metrics = {"test_accuracy": math.nan, "val_loss": 1.23456789}
    content = json.loads(replace(record, metrics=metrics, lambda_max=(2 / 3,)).to_line())
    assert content["metrics"] == {"test_accuracy": None, "val_loss": 1.23457}
    assert content["lambda_max"] == [0.666667]
    # The fourth seed of the made-up losses: 1 / 3 + 0.03.
    assert content["history"]["val_loss"][2] == 0.36333
    assert math.isnan(Record.from_line(json.dumps(content)).test_accuracy)


def test_the_history_can_be_left_out(record):
    short = record.without_history()
    assert short.history is None
    assert Record.from_line(short.to_line()).history is None
    assert replace(short, history=record.history) == record


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"format": "akgnn-record-9"}, ValueError),
        ({"metrics": {"test_accuracy": "high"}}, (TypeError, ValueError)),
        ({"error": 3}, (TypeError, ValueError)),
        ({"data": {"name": "cora"}}, KeyError),
    ],
)
def test_what_does_not_fit_is_an_error(record, change, error):
    content = {**json.loads(record.to_line()), **change}
    with pytest.raises(error):
        Record.from_line(json.dumps(content))


def test_a_failed_record_has_a_printable_reason_and_no_numbers(record):
    failed = failed_record(record.plan, "no\nluck\x1b", versions={}, environment={})
    assert failed.error == "no luck"
    assert not failed.is_finished
    assert not failed.is_search
    assert math.isnan(failed.test_accuracy)
    assert Record.from_line(failed.to_line()) == failed


def test_data_for_a_search_have_all_but_the_test_nodes(record):
    data = load_dataset("csbm:num_nodes=60")
    without = data.without_test()
    assert len(data.split.test) > 0
    assert len(without.split.test) == 0
    assert torch.equal(without.split.train, data.split.train)
    assert torch.equal(without.split.val, data.split.val)
    assert not record.is_search
    split = f"{without.split.name}:12345678"
    assert replace(record, data=replace(record.data, split=split)).is_search
