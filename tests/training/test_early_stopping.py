import pytest

from akgnn.training.state import EarlyStopping


def run(stopping, losses, accuracies=None):
    """The epoch after which it is over, or None."""
    for epoch, loss in enumerate(losses):
        stopping.update(epoch, loss, accuracies[epoch] if accuracies else 0.0)
        if stopping.is_over(epoch):
            return epoch
    return None


def test_stops_after_patience_epochs_without_a_lower_loss():
    stopping = EarlyStopping(patience=2)
    assert run(stopping, [3.0, 2.0, 2.5, 2.4, 1.0]) == 3
    assert stopping.best_epoch == 1


def test_an_equal_loss_is_no_improvement():
    stopping = EarlyStopping(patience=2)
    assert run(stopping, [2.0, 2.0, 2.0]) == 2
    assert stopping.best_epoch == 0


@pytest.mark.parametrize(
    ("stop_on", "column"), [("accuracy", "val_accuracy"), ("roc_auc", "val_roc_auc")]
)
def test_a_score_decides_if_asked_and_loss_breaks_ties(stop_on, column):
    stopping = EarlyStopping(patience=10, stop_on=stop_on)
    assert stopping.column == column
    run(stopping, [1.0, 0.5, 2.0, 1.5], [50.0, 60.0, 70.0, 70.0])
    assert stopping.best_epoch == 3


def test_does_not_stop_while_it_improves():
    assert run(EarlyStopping(patience=1), [3.0, 2.0, 1.0]) is None


def test_a_better_accuracy_renews_the_patience_if_either_may():
    losses, accuracies = [1.0, 1.1, 1.2, 1.3, 1.4], [50.0, 50.0, 60.0, 60.0, 60.0]
    assert run(EarlyStopping(patience=2), losses, accuracies) == 2
    stopping = EarlyStopping(patience=2, stop_on="either")
    assert run(stopping, losses, accuracies) == 4
    assert stopping.best_epoch == 0


def test_the_best_epoch_may_have_to_be_no_worse_in_both():
    losses = [1.0, 0.9, 0.8, 0.9, 0.8, 0.9, 0.9]
    accuracies = [50.0, 40.0, 50.0, 60.0, 60.0, 50.0, 50.0]
    stopping = EarlyStopping(patience=2, stop_on="both")
    # Loss and accuracy of epoch 4 are those of two epochs before it, and no worse than any.
    assert run(stopping, losses, accuracies) == 6
    assert stopping.best_epoch == 4


def test_either_renews_the_patience_of_both():
    losses, accuracies = [1.0, 0.9, 1.1, 1.1, 1.1], [50.0, 40.0, 50.0, 40.0, 40.0]
    stopping = EarlyStopping(patience=2, stop_on="both")
    assert run(stopping, losses, accuracies) == 4
    assert stopping.best_epoch == 0


def test_a_lower_score_is_better_where_the_metric_says_so():
    stopping = EarlyStopping(patience=2, stop_on="calibration_error")
    assert run(stopping, [1.0, 0.9, 0.8, 0.7], [20.0, 10.0, 30.0, 15.0]) == 3
    assert stopping.best_epoch == 1


def test_an_epoch_without_a_score_is_worse_than_any_with_one():
    nan = float("nan")
    stopping = EarlyStopping(patience=10, stop_on="accuracy")
    run(stopping, [0.5, 0.4, 1.0, 0.3], [nan, nan, 10.0, nan])
    assert stopping.best_epoch == 2
