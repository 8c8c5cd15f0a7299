from akgnn.training.early_stopping import EarlyStopping


def run(stopping, losses, accuracies=None):
    """The epoch after which it is over, or None."""
    for epoch, loss in enumerate(losses):
        stopping.improves(epoch, loss, accuracies[epoch] if accuracies else 0.0)
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


def test_accuracy_decides_if_asked_and_loss_breaks_ties():
    stopping = EarlyStopping(patience=10, stop_on="accuracy")
    run(stopping, [1.0, 0.5, 2.0, 1.5], [50.0, 60.0, 70.0, 70.0])
    assert stopping.best_epoch == 3


def test_does_not_stop_while_it_improves():
    assert run(EarlyStopping(patience=1), [3.0, 2.0, 1.0]) is None
