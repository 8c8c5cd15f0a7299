import pytest

from akgnn.training.history import History

ROW = {
    "train_loss": 1.0,
    "train_accuracy": 50.0,
    "val_loss": 2.0,
    "val_accuracy": 40.0,
    "lambda_max": [],
}


def test_rows_become_columns():
    history = History()
    row = {"train_loss": 1.0, "train_accuracy": 50.0, "val_loss": 2.0, "val_accuracy": 40.0}
    history.append(**row, lambda_max=[2.0])
    assert len(history) == 1
    assert history.to_dict() == {name: [value] for name, value in row.items()} | {
        "lambda_max": [[2.0]],
        "val_roc_auc": [],
        "neighbour_share": [],
        "start": [],
    }
    assert History(**history.to_dict()) == history


def test_a_row_needs_every_column():
    with pytest.raises(KeyError):
        History().append(train_loss=1.0)


def test_roc_auc_is_kept_where_there_is_one():
    history = History()
    for value in (70.0, 80.0):
        history.append(**ROW, val_roc_auc=value)
    assert history.val_roc_auc == [70.0, 80.0]


def test_a_column_that_was_not_begun_stays_empty():
    history = History()
    history.append(**ROW)
    history.append(**ROW, val_roc_auc=70.0)
    assert len(history) == 2
    assert history.val_roc_auc == []


def test_the_epochs_of_one_start_are_a_history_of_their_own():
    history, alone = History(), History()
    for number, loss in ((0, 3.0), (0, 2.0), (1, 5.0), (1, 4.0)):
        row = {**ROW, "val_loss": loss}
        history.append(**row, start=number, neighbour_share=[0.5])
        if number == 1:
            alone.append(**row, neighbour_share=[0.5])
    assert history.of_start(1) == alone
