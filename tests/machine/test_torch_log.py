import sys

import pytest

from akgnn.machine import torch_log
from akgnn.machine.torch_log import errors_only


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"RANK": "1"}, {"RANK": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}),
        (
            {"RANK": "1", "TORCH_CPP_LOG_LEVEL": "INFO"},
            {"RANK": "1", "TORCH_CPP_LOG_LEVEL": "INFO"},
        ),
        ({}, {}),
    ],
)
def test_warnings_are_left_out_where_torchrun_started_it(before, after, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    errors_only(before)
    assert before == after


def test_nothing_is_changed_once_torch_is_loaded(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", torch_log)
    environment = {"RANK": "1"}
    errors_only(environment)
    assert environment == {"RANK": "1"}
