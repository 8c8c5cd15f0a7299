import pytest

from akgnn.distributed.mesh import MeshShape, shape_for
from akgnn.errors import SettingsError


def test_a_shape_is_read_as_it_is_written():
    shape = MeshShape.parse("4x2")
    assert (shape.nodes, shape.channels, shape.size, str(shape)) == (4, 2, 8, "4x2")


@pytest.mark.parametrize("text", ["", "4", "4x", "0x2", "4x-2", "4×2", "4x2x1", "99999x1"])
def test_what_is_no_shape_is_refused(text):
    with pytest.raises(SettingsError, match="groups of nodes x slices of channels"):
        MeshShape.parse(text)


def test_a_shape_must_be_for_as_many_processes_as_there_are():
    assert shape_for(6) == MeshShape(6, 1)
    assert shape_for(6, "3x2") == MeshShape(3, 2)
    with pytest.raises(SettingsError, match="is for 4 processes, but there are 6"):
        shape_for(6, "2x2")
