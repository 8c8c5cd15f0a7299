from pathlib import Path

import pytest
import torch.multiprocessing as mp

from akgnn.distributed.mesh import Mesh, MeshShape, shape_for
from akgnn.errors import SettingsError
from gloo_processes import train_by_gloo
from threads_group import on_threads


def test_a_shape_is_read_and_written():
    shape = MeshShape.parse("3x2")
    assert (shape.nodes, shape.channels, shape.size, str(shape)) == (3, 2, 6, "3x2")


@pytest.mark.parametrize(
    "text", ["axb", "0x4", "4x0", "-1x2", "2", "2x2x2", "2 x 2", "", "99999x1"]
)
def test_what_is_no_shape_is_refused(text):
    with pytest.raises(SettingsError, match="groups of nodes x slices of channels, such as 2x2"):
        MeshShape.parse(text)


def test_processes_share_the_nodes_unless_said_otherwise():
    assert shape_for(4) == MeshShape(4, 1)
    assert shape_for(4, "2x2") == MeshShape(2, 2)


def test_a_shape_for_other_processes_is_refused():
    with pytest.raises(SettingsError, match="`mesh='3x2'` is for 6 processes, but there are 4"):
        shape_for(4, "3x2")
    with pytest.raises(SettingsError, match="is for 2 processes, but there is 1"):
        shape_for(1, "1x2")


def test_processes_that_share_nodes_follow_each_other():
    def work(group):
        mesh = Mesh.of(group, MeshShape(3, 2))
        told = [b"%d" % group.rank] * 2
        axes = (mesh.nodes, mesh.channels)
        return [
            axis.gather_bytes(word) for axis, word in zip(axes, told, strict=True)
        ], mesh.nodes.rank

    assert on_threads(6, work) == [
        ([[b"0", b"1", b"2"], [b"0", b"3"]], 0),
        ([[b"0", b"1", b"2"], [b"1", b"4"]], 1),
        ([[b"0", b"1", b"2"], [b"2", b"5"]], 2),
        ([[b"3", b"4", b"5"], [b"0", b"3"]], 0),
        ([[b"3", b"4", b"5"], [b"1", b"4"]], 1),
        ([[b"3", b"4", b"5"], [b"2", b"5"]], 2),
    ]


@pytest.mark.parametrize(("shape", "nodes", "channels"), [("3x1", 3, 1), ("1x3", 1, 3)])
def test_an_axis_of_one_is_this_process_alone(shape, nodes, channels):
    def work(group):
        mesh = Mesh.of(group, MeshShape.parse(shape))
        assert mesh.everyone is group
        return mesh.nodes.size, mesh.channels.size

    assert on_threads(3, work) == [(nodes, channels)] * 3


def test_a_mesh_of_processes_that_talk_by_gloo_trains_one_model(tmp_path: Path):
    mp.spawn(train_by_gloo, (4, str(tmp_path), [{"mesh": "2x2"}]), nprocs=4)
    assert len({tmp_path.joinpath(f"rank-{rank}").read_text() for rank in range(4)}) == 1
