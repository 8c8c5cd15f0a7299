"""On which addresses a process and those that it started listen, as Linux says in /proc."""

import ipaddress
import os
from contextlib import suppress
from pathlib import Path

_LISTENS = "0A"


def addresses(process: int) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """The addresses of all TCP sockets of the process and its descendants that listen."""
    own = {inode for each in _tree(process) for inode in _sockets(each)}
    rows = []
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == _LISTENS and words[9] in own:
                rows.append(words[1].partition(":")[0])
    return [_address(row) for row in rows]


def _address(digits: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Words of 32 bits, each in the byte order of a little-endian machine."""
    words = [bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8)]
    return ipaddress.ip_address(b"".join(words))


def _tree(process: int) -> set[int]:
    parents = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = file.read_text().rpartition(")")[2].split()[1]
            parents[int(file.parent.name)] = int(parent)
    found, more = set(), {process}
    while more:
        found |= more
        more = {child for child, parent in parents.items() if parent in found} - found
    return found


def _sockets(process: int) -> set[str]:
    links = []
    with suppress(OSError):
        for file in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                links.append(os.readlink(file))
    return {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}
