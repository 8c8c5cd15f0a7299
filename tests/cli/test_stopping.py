import os
import signal

import pytest

from akgnn.cli.progress import StopRequests
from akgnn.data.catalogue import load_dataset
from akgnn.errors import InterruptedRunError
from akgnn.models.registry import build_model, find_model
from akgnn.training.callbacks import Callback
from akgnn.training.fit import fit


@pytest.fixture(autouse=True)
def usual_handlers():
    """As in a terminal: a program that a shell starts in the background ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_noted_and_not_obeyed_at_once(number):
    before = signal.getsignal(number)
    with StopRequests() as stops:
        assert not stops.should_stop()
        os.kill(os.getpid(), number)
        assert stops.should_stop()
        assert signal.getsignal(number) is before
    assert signal.getsignal(number) is before


def test_a_second_ctrl_c_interrupts():
    with StopRequests() as stops:
        os.kill(os.getpid(), signal.SIGINT)
        assert stops.should_stop()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_something_else_asks_too():
    asked = []
    with StopRequests(lambda: bool(asked)) as stops:
        assert not stops.should_stop()
        asked.append(True)
        assert stops.should_stop()


def test_training_ends_after_the_epoch_in_which_the_signal_came():
    class Signal(Callback):
        def after_epoch(self, epochs):
            if len(epochs[0].history) == 2:
                os.kill(os.getpid(), signal.SIGINT)

    data = load_dataset("csbm:num_nodes=60")
    model = build_model("mlp", find_model("mlp").settings(), data.num_features, data.num_classes)
    with StopRequests() as stops, pytest.raises(InterruptedRunError, match=r"after epoch 2\."):
        fit(model, data, callbacks=[Signal(), stops])
