"""A lock on a folder, so that two processes do not write to it at once."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from akgnn.errors import RunFolderError

if sys.platform != "win32":
    import fcntl


@contextmanager
def folder_lock(path: Path) -> Iterator[None]:
    """Inside, no other process may enter with this folder. A kill gives the lock back.

    Windows has no such lock on folders; there nobody keeps two processes apart.
    """
    if sys.platform == "win32":
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise RunFolderError(f"Another process is training in {path}.") from error
    finally:
        os.close(handle)
