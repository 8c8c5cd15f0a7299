import csv
import io
import json
from dataclasses import replace

import pytest
import torch

from akgnn.errors import RunFolderError
from akgnn.runs.predictions import Predictions

PREDICTIONS = Predictions(("art", "bio, chem"), torch.tensor([[0.25, 0.75], [2 / 3, 1 / 3]]))


def test_predictions_are_written_as_csv(tmp_path):
    text = PREDICTIONS.to_csv(tmp_path / "out.csv")
    assert list(csv.reader(io.StringIO(text))) == [
        ["node", "label", "probability of art", "probability of bio, chem"],
        ["0", "bio, chem", "0.250000", "0.750000"],
        ["1", "art", "0.666667", "0.333333"],
    ]
    assert (tmp_path / "out.csv").read_text() == text
    named = replace(PREDICTIONS, ids=["a", 7]).to_csv()
    assert [row.split(",")[0] for row in named.splitlines()] == ["id", "a", "7"]
    with pytest.raises(RunFolderError, match="Cannot write"):
        PREDICTIONS.to_csv(tmp_path / "nowhere" / "out.csv")


def test_predictions_are_found_by_id():
    assert PREDICTIONS.by_id == {0: "bio, chem", 1: "art"}
    assert replace(PREDICTIONS, ids=["a", 7]).by_id == {"a": "bio, chem", 7: "art"}


def test_predictions_are_plain_json():
    content = json.loads(json.dumps(replace(PREDICTIONS, ids=["a", 7]).to_dict()))
    assert content["id"] == ["a", 7]
    assert content["classes"] == ["art", "bio, chem"]
    assert content["label"] == ["bio, chem", "art"]
    assert content["probability"][0] == [0.25, 0.75]
    assert "id" not in PREDICTIONS.to_dict()
