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
        "neighbour_share": [],
        "start": [],
    }
    assert History.from_dict(history.to_dict()) == history


def test_a_row_needs_every_column():
    with pytest.raises(KeyError):
        History().append(train_loss=1.0)


def test_roc_auc_is_kept_where_there_is_one():
    history = History()
    for value in (70.0, 80.0):
        history.append(**ROW, val_roc_auc=value)
    assert history.val_roc_auc == history.column("val_roc_auc") == [70.0, 80.0]
    assert history.row(1)["val_roc_auc"] == 80.0
    assert History.from_dict(history.to_dict()) == history


def test_a_column_that_was_not_begun_stays_empty():
    history = History()
    history.append(**ROW)
    history.append(**ROW, val_roc_auc=70.0)
    assert len(history) == 2
    assert history.val_roc_auc == []


def test_the_epochs_of_one_restart_are_a_history_of_their_own():
    history, alone = History(), History()
    for number, loss in ((0, 3.0), (0, 2.0), (1, 5.0), (1, 4.0)):
        row = {**ROW, "val_loss": loss}
        others = {"neighbour_share": [0.5], "val_roc_auc": 10 * loss}
        history.append(**row, **others, start=number)
        if number == 1:
            alone.append(**row, **others)
    assert history.of_restart(1) == alone


def columns(**others):
    names = ("train_loss", "train_accuracy", "val_loss", "val_accuracy")
    return {**{name: [1.0, 2.0] for name in names}, "lambda_max": [[], []], **others}


def test_a_column_of_roc_auc_is_whole_or_absent():
    assert History.from_dict(columns()).val_roc_auc == []
    # As records have it from when every history had the column.
    assert History.from_dict(columns(val_roc_auc=[])) == History.from_dict(columns())
    assert History.from_dict(columns(val_roc_auc=[7.0, 8.0])).val_roc_auc == [7.0, 8.0]
    with pytest.raises(ValueError, match="val_roc_auc of the history has another length"):
        History.from_dict(columns(val_roc_auc=[7.0]))


def test_columns_that_have_to_be_there_are_of_one_length():
    for wrong in ([], [1.0]):
        with pytest.raises(ValueError, match="val_accuracy of the history has another length"):
            History.from_dict(columns(val_accuracy=wrong))
    incomplete = columns()
    del incomplete["lambda_max"]
    with pytest.raises(KeyError, match="lambda_max"):
        History.from_dict(incomplete)


@pytest.mark.parametrize(
    "wrong", [{"start": [0.5, 1.0]}, {"lambda_max": [1.0, 2.0]}, {"val_roc_auc": ["x", "y"]}]
)
def test_columns_of_other_types_are_refused(wrong):
    with pytest.raises(ValueError, match=f"the column {next(iter(wrong))}"):
        History.from_dict(columns(**wrong))


def test_only_columns_of_validation_may_be_absent():
    history = History()
    assert history.val_f2 == []
    with pytest.raises(AttributeError, match="no 'train_f2'"):
        _ = history.train_f2


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("val_loss", [0.5], "train_loss of the history has another length"),
        ("lambda_max", [[2.0, 2.0], [2.0]], "lambda_max of the history has rows of other lengths"),
        ("neighbour_share", [[0.5], []], "neighbour_share of the history has rows of other"),
        ("start", [0, 10**9], "does not count restarts"),
        ("start", [1, 0], "does not count restarts"),
    ],
)
def test_columns_that_do_not_fit_are_refused(column, value, message):
    names = ("train_loss", "train_accuracy", "val_loss", "val_accuracy")
    content = {**{name: [0.5, 0.4] for name in names}, "lambda_max": [[2.0], [2.1]]}
    assert len(History.from_dict(content)) == 2
    with pytest.raises(ValueError, match=message):
        History.from_dict({**content, column: value})
