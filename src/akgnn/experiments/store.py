"""The folder of an experiment's records: `records.jsonl`, one line a run, only ever added to."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from akgnn.codec import MISFITS, cause_of
from akgnn.errors import RunFolderError
from akgnn.experiments.record import Record
from akgnn.files import folder_lock, make_folder, parse_json, read_file

RECORDS_FILE = "records.jsonl"
# All records of the paper take a hundredth of this.
_MOST_BYTES = 2**31


@dataclass(frozen=True)
class Contents:
    """What a folder holds: records in the order written, and what is wrong with other lines."""

    records: tuple[Record, ...]
    skipped: tuple[str, ...]


class RecordStore:
    """A folder of records, made when something is first written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path / RECORDS_FILE

    def exists(self) -> bool:
        """Whether there are records here."""
        return self.file.is_file()

    def read(self) -> Contents:
        """All records; lines that are torn or from another version are skipped and named."""
        content = self._content()
        lines = content.split(b"\n") if content else []
        records, skipped = [], []
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                records.append(Record.from_line(line.decode("utf-8")))
            except (*MISFITS, RecursionError) as error:
                is_torn = number == len(lines)
                cause = "it breaks off in the middle" if is_torn else cause_of(error)
                skipped.append(f"{self.file}, line {number} was skipped: {cause}.")
        return Contents(tuple(records), tuple(skipped))

    def _content(self) -> bytes:
        return read_file(self.file, _MOST_BYTES, RunFolderError) if self.exists() else b""

    def append(self, record: Record) -> None:
        """Add one record; it has reached the disk when this returns."""
        try:
            with self.file.open("ab+") as stream:
                # The last line may lack its end: the new one must not go on with it.
                is_open = stream.tell() > 0 and _last_byte(stream) != b"\n"
                stream.write(b"\n" * is_open + record.to_line().encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise RunFolderError(f"Cannot write {self.file}: {error.strerror}.") from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder; inside, no other process may add to it.

        A last line that a kill tore is cut off: its run is missing, and will be trained again.
        """
        make_folder(self.path)
        with folder_lock(self.path):
            self._cut_torn_line()
            yield

    def _cut_torn_line(self) -> None:
        content = self._content()
        last = content.rpartition(b"\n")[2]
        try:
            if last:
                parse_json(last)
        except ValueError:
            try:
                os.truncate(self.file, len(content) - len(last))
            except OSError as error:
                raise RunFolderError(f"Cannot write {self.file}: {error.strerror}.") from error


def _last_byte(stream: BinaryIO) -> bytes:
    stream.seek(-1, os.SEEK_END)
    return stream.read(1)
