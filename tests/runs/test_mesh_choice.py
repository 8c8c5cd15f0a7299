from dataclasses import replace
from pathlib import Path

import pytest
import torch

from akgnn.distributed.cut import cut_graph
from akgnn.distributed.folder import FolderParts, open_parts
from akgnn.distributed.forecast import forecasts
from akgnn.distributed.hardware import CPU_CORE
from akgnn.distributed.mesh import MeshShape
from akgnn.distributed.workload import cut_already
from akgnn.distributed.write import write_parts
from akgnn.runs.folder import RunFolder
from akgnn.runs.mesh_choice import choose_mesh_for, kept_mesh
from akgnn.runs.parted import train_parts
from akgnn.runs.plan import PARTS, RunPlan
from threads_group import on_threads

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> FolderParts:
    data = RunPlan.decide({"dataset": "csbm:num_nodes=200,signal=2"}).load()
    folder = tmp_path_factory.mktemp("parts") / "p"
    write_parts(folder, data, cut_graph(data.graph, 8, "hash"), cut="hash")
    return open_parts(folder)


def plan_for(parts: FolderParts, **changes: str) -> RunPlan:
    return RunPlan.decide({"dataset": f"{PARTS}{parts.path}"}, changes)


def test_the_plan_chooses_and_says_why(parts):
    mesh, why = choose_mesh_for(plan_for(parts), parts, 4, CPU)
    # Nearly all rows are halo, and messages take longer than the work.
    assert mesh == MeshShape(1, 4)
    assert why.startswith("Mesh 1x4, chosen by the plan: 0.0")
    assert why.endswith("`mesh=4x1` has the bits of one process.")


def test_nodes_alone_are_taken_where_slices_are_hardly_faster(parts, monkeypatch):
    nodes, *_, sliced = forecasts(cut_already(parts), 4, CPU_CORE)
    near = nodes.seconds.total / sliced.seconds.total
    for share, wanted in ((0.99, MeshShape(1, 4)), (1.01, MeshShape(4, 1))):
        monkeypatch.setattr("akgnn.runs.mesh_choice._NEAR", share * near)
        mesh, why = choose_mesh_for(plan_for(parts), parts, 4, CPU)
        assert mesh == wanted
        assert ("has the bits of one process" in why) == (wanted.channels > 1)


def test_slices_that_do_not_fit_into_memory_are_not_chosen(parts, monkeypatch):
    # Few channels and layers: slices have all features and the whole graph each.
    few = {"hidden_channels": "16", "num_layers": "1"}
    monkeypatch.setattr("akgnn.runs.mesh_choice._NEAR", 1.0)
    work = cut_already(parts, num_layers=1, channels=16)
    *_, sliced = forecasts(work, 4, replace(CPU_CORE, memory=None))
    room = min(each.memory.total for each in forecasts(work, 4, CPU_CORE))
    assert choose_mesh_for(plan_for(parts, **few), parts, 4, CPU)[0] == sliced.mesh
    assert room < sliced.memory.total
    monkeypatch.setattr("akgnn.runs.mesh_choice.free_bytes", lambda device: 4 * room)
    assert choose_mesh_for(plan_for(parts, **few), parts, 4, CPU)[0] != sliced.mesh


@pytest.mark.parametrize("changes", [{"order": "blocks"}, {"hidden_channels": "4"}])
def test_channels_that_cannot_be_cut_leave_the_nodes(parts, changes):
    assert choose_mesh_for(plan_for(parts, **changes), parts, 4, CPU) == (MeshShape(4, 1), "")


def test_halos_that_were_not_counted_leave_the_nodes(parts):
    assert choose_mesh_for(plan_for(parts), parts, 6, CPU) == (MeshShape(6, 1), "")


def test_groups_of_channels_stay_together(parts):
    mesh, _ = choose_mesh_for(plan_for(parts, groups="2", kernel="paper"), parts, 4, CPU)
    assert mesh.channels <= 2


def test_a_run_tells_its_mesh_to_as_many_processes(parts, tmp_path):
    plan, out = plan_for(parts, epochs="2", hidden_channels="8"), RunFolder(tmp_path / "run")

    def work(group):
        folder = out if group.rank == 0 else None
        train_parts(plan, parts, folder, group, CPU, mesh=MeshShape(1, 2))

    assert kept_mesh(out, 2) is None
    on_threads(2, work)
    assert kept_mesh(out, 2) == MeshShape(1, 2)
    assert kept_mesh(out, 4) is None


def test_a_run_of_one_process_has_no_mesh(parts, tmp_path: Path):
    out = RunFolder(tmp_path / "run")
    on_threads(1, lambda group: train_parts(plan_for(parts, epochs="1"), parts, out, group, CPU))
    assert kept_mesh(out, 2) is None
