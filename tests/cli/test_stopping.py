import os
import signal

import pytest

from akgnn.cli.stopping import stop_requests


@pytest.fixture(autouse=True)
def usual_handlers():
    """As in a terminal: a program that a shell starts in the background ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_noted_and_not_obeyed_at_once(number):
    before = signal.getsignal(number)
    with stop_requests() as should_stop:
        assert not should_stop()
        os.kill(os.getpid(), number)
        assert should_stop()
        assert signal.getsignal(number) is before
    assert signal.getsignal(number) is before


def test_a_second_ctrl_c_interrupts():
    with stop_requests() as should_stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert should_stop()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
