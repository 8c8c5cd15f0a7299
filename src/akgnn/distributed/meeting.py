"""Where processes of one machine meet: a private folder, and the loopback interface.

Nothing of it can be reached from the network, and a file of another user's is out of reach too.
"""

import fcntl
import os
import socket
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from akgnn.errors import FailedRunsError, SettingsError

_FOLDER, _STARTER = "AKGNN_MEETING", "AKGNN_STARTER"
# The request for the flags of an interface, by platform; IFF_UP and IFF_LOOPBACK among its answers.
_SIOCGIFFLAGS = 0x8913 if sys.platform == "linux" else 0xC0206911
_NAME_BYTES, _REQUEST_BYTES = 16, 256
_UP_AND_LOOPBACK = 0x1 | 0x8


@dataclass(frozen=True)
class Meeting:
    """The private folder of processes that `run_processes` started.

    Attributes:
        folder: The folder; every restart has a new one.
        starter: The process that started them.
    """

    folder: Path
    starter: int

    @classmethod
    def of_this_process(cls) -> Self | None:
        """The meeting that this process was started for; None if it was started otherwise.

        Raises:
            SettingsError: The environment names a meeting that does not exist.
        """
        folder, starter = os.environ.get(_FOLDER), os.environ.get(_STARTER, "")
        if not folder:
            return None
        if not (Path(folder).is_dir() and starter.isdecimal()):
            raise SettingsError(
                f"{_FOLDER} or {_STARTER} is set, but not by `processes`; unset both."
            )
        return cls(Path(folder), int(starter))

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which a process finds the meeting."""
        return {_FOLDER: str(self.folder), _STARTER: str(self.starter), **loopback_only()}

    @property
    def store(self) -> Path:
        """The file through which processes find each other."""
        return self.folder / "store"

    @property
    def stop(self) -> Path:
        """Once this file exists, processes stop after the epoch."""
        return self.folder.parent / "stop"

    def asks_to_stop(self) -> bool:
        """Whether to stop after the epoch: on request, or because the starter is gone."""
        return self.stop.exists() or os.getppid() != self.starter

    def is_first_to_speak(self) -> bool:
        """Whether this process says what went wrong; the others would say the same."""
        try:
            (self.folder / "said").touch(exist_ok=False)
        except OSError as error:
            return not isinstance(error, FileExistsError)
        return True


def loopback_only() -> dict[str, str]:
    """Environment variables with which Gloo and NCCL use the loopback interface alone.

    Raises:
        FailedRunsError: No loopback interface is up.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as anything:
        for _, name in socket.if_nameindex():
            request = name.encode().ljust(_REQUEST_BYTES, b"\0")
            with suppress(OSError):
                answer = fcntl.ioctl(anything, _SIOCGIFFLAGS, request)
                (flags,) = struct.unpack_from("H", answer, _NAME_BYTES)
                if flags & _UP_AND_LOOPBACK == _UP_AND_LOOPBACK:
                    # NCCL reads a name without the sign as how names begin.
                    return {"GLOO_SOCKET_IFNAME": name, "NCCL_SOCKET_IFNAME": f"={name}"}
    raise FailedRunsError(
        "Processes of one machine talk over its loopback interface, but none is up; "
        "try `ip link set lo up`."
    )
