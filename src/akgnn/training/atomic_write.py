"""Files that are there whole or not at all."""

import os
from pathlib import Path

from akgnn.errors import RunFolderError


def atomic_write(file: Path, content: bytes) -> None:
    """Put a file in place in one step, after its content has reached the disk."""
    temporary = file.parent / f".tmp-{os.getpid()}-{file.name}"
    try:
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise RunFolderError(f"Cannot write {file}: {error.strerror or error}.") from error
