import pytest

from akgnn.training.history import History


def test_rows_become_columns():
    history = History()
    row = {"train_loss": 1.0, "train_accuracy": 50.0, "val_loss": 2.0, "val_accuracy": 40.0}
    history.append(**row, lambda_max=[2.0])
    assert len(history) == 1
    assert history.to_dict() == {name: [value] for name, value in row.items()} | {
        "lambda_max": [[2.0]]
    }
    assert History(**history.to_dict()) == history


def test_a_row_needs_every_column():
    with pytest.raises(KeyError):
        History().append(train_loss=1.0)
