"""Two axes along which processes share the work: groups of nodes times slices of channels."""

import re
from dataclasses import dataclass
from typing import Self

from akgnn.distributed.group import Group
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
                "`mesh` is groups of nodes x slices of channels, such as 2x2, each from 1 to "
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
            f"`mesh='{shape}'` is for {shape.size} processes, but there "
            f"{'is' if processes == 1 else 'are'} {processes}."
        )
    return shape


@dataclass(frozen=True)
class Mesh:
    """The processes of a training, along both axes.

    Attributes:
        shape: How many there are along each.
        everyone: All of them.
        nodes: Those that have the same channels as this one, and other nodes.
        channels: Those that have the same nodes as this one, and other channels.
    """

    shape: MeshShape
    everyone: Group
    nodes: Group
    channels: Group

    @classmethod
    def of(cls, everyone: Group, shape: MeshShape) -> Self:
        """The mesh of this shape, called by every process.

        Those that share the nodes of one slice follow each other by rank. So they are processes of
        one host, if it has as many: rows of other parts travel in every layer, while slices meet at
        labelled rows alone.

        Raises:
            SettingsError: There is another number of processes.
        """
        shape = shape_for(everyone.size, str(shape))
        nodes, size = shape.nodes, shape.size
        return cls(
            shape,
            everyone,
            everyone.among([range(first, first + nodes) for first in range(0, size, nodes)]),
            everyone.among([range(first, size, nodes) for first in range(nodes)]),
        )
