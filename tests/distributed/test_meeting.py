import os
import socket

import pytest

from akgnn.distributed.meeting import Meeting, loopback_only
from akgnn.errors import FailedRunsError


@pytest.fixture
def meeting(tmp_path):
    folder = tmp_path / "0"
    folder.mkdir()
    return Meeting(folder, os.getppid())


def test_a_process_finds_the_meeting_in_its_environment(meeting, monkeypatch):
    for name, value in meeting.environment.items():
        monkeypatch.setenv(name, value)
    assert Meeting.of_this_process() == meeting


def test_without_a_folder_there_is_no_meeting(monkeypatch):
    monkeypatch.delenv("AKGNN_MEETING", raising=False)
    monkeypatch.setenv("AKGNN_STARTER", "nonsense")
    assert Meeting.of_this_process() is None


def test_a_file_asks_to_stop(meeting):
    assert not meeting.asks_to_stop()
    meeting.stop.touch()
    assert meeting.asks_to_stop()


def test_a_starter_that_is_gone_asks_to_stop(meeting):
    # Another process became the parent.
    assert Meeting(meeting.folder, os.getpid()).asks_to_stop()


def test_one_process_speaks(meeting):
    assert [meeting.is_first_to_speak() for _ in range(3)] == [True, False, False]
    meeting.folder.joinpath("said").unlink()
    meeting.folder.rmdir()
    assert meeting.is_first_to_speak()


def test_the_interface_is_the_one_that_has_the_loopback_address():
    names = loopback_only()
    assert names["NCCL_SOCKET_IFNAME"] == f"={names['GLOO_SOCKET_IFNAME']}"
    assert names["GLOO_SOCKET_IFNAME"] in ("lo", "lo0")


def test_a_machine_without_loopback_says_so(monkeypatch):
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(2, "nowhere0")])
    with pytest.raises(FailedRunsError, match="loopback interface, but none is up"):
        loopback_only()
