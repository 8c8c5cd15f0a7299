import os
import signal
import subprocess
import sys

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


def test_a_file_asks_too(tmp_path):
    with StopRequests(str(tmp_path / "stop")) as stops:
        assert not stops.should_stop()
        tmp_path.joinpath("stop").touch()
        assert stops.should_stop()


def test_the_end_of_who_started_it_asks_too():
    starter = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with starter, StopRequests(starter=starter.pid) as stops:
        assert not stops.should_stop()
        starter.kill()
        starter.wait()
        assert stops.should_stop()


def test_a_process_of_somebody_else_is_there(monkeypatch):
    def refuse(process, number):
        raise PermissionError

    monkeypatch.setattr("akgnn.cli.progress.os.kill", refuse)
    with StopRequests(starter=1) as stops:
        assert not stops.should_stop()


def test_training_ends_after_the_epoch_in_which_the_signal_came():
    class Signal(Callback):
        def after_epoch(self, epochs):
            if len(epochs[0].history) == 2:
                os.kill(os.getpid(), signal.SIGINT)

    data = load_dataset("csbm:num_nodes=60")
    model = build_model("mlp", find_model("mlp").settings(), data.num_features, data.num_classes)
    with StopRequests() as stops, pytest.raises(InterruptedRunError, match=r"after epoch 2\."):
        fit(model, data, callbacks=[Signal(), stops])
