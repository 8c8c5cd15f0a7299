"""Two axes along which processes share the work: groups of nodes times slices of channels."""

import re
from dataclasses import dataclass
from typing import Self

from akgnn.errors import SettingsError

_TEXT = re.compile(r"([1-9]\d{0,3})x([1-9]\d{0,3})")


@dataclass(frozen=True)
class MeshShape:
    """How many processes share the nodes, and how many the channels.

    Attributes:
        nodes: The parts of the graph are shared out among so many groups.
        channels: The channels are cut into so many slices.
    """

    nodes: int
    channels: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """The shape that is written as `2x2`.

        Raises:
            SettingsError: It is not.
        """
        found = _TEXT.fullmatch(text)
        if found is None:
            raise SettingsError(
                "A mesh is groups of nodes x slices of channels, such as 2x2, each from 1 to "
                f"9999; got {text[:40]!r}."
            )
        return cls(int(found[1]), int(found[2]))

    @property
    def size(self) -> int:
        """The number of processes."""
        return self.nodes * self.channels

    def __str__(self) -> str:
        return f"{self.nodes}x{self.channels}"


def shape_for(processes: int, text: str | None = None) -> MeshShape:
    """The shape for so many processes: the given one, or else nodes alone.

    Raises:
        SettingsError: What is given is no shape, or one for another number of processes.
    """
    if text is None:
        return MeshShape(processes, 1)
    shape = MeshShape.parse(text)
    if shape.size != processes:
        raise SettingsError(
            f"The mesh {shape} is for {shape.size} processes, but there "
            f"{'is' if processes == 1 else 'are'} {processes}."
        )
    return shape
