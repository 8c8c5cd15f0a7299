from functools import partial
from pathlib import Path

import pytest
import torch

from akgnn.distributed.cut import cut_graph
from akgnn.distributed.folder import FolderParts, open_parts
from akgnn.distributed.group import Group
from akgnn.distributed.mesh import MeshShape
from akgnn.distributed.write import write_parts
from akgnn.errors import AkgnnError, InterruptedRunError, RunFolderError, SettingsError
from akgnn.runs.folder import RunFolder
from akgnn.runs.load import load_run
from akgnn.runs.parted import check_same_settings, keep_or_give_back, train_parts
from akgnn.runs.plan import PARTS, RunPlan
from threads_group import on_threads

CPU = torch.device("cpu")
CHANGES = {"epochs": "12", "hidden_channels": "8", "num_layers": "2"}


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> FolderParts:
    data = RunPlan.decide({"dataset": "csbm:num_nodes=200,signal=2"}).load()
    folder = tmp_path_factory.mktemp("parts") / "p"
    write_parts(folder, data, cut_graph(data.graph, 5, "hash"), cut="hash")
    return open_parts(folder)


def plan_for(parts: FolderParts, **changes: str) -> RunPlan:
    return RunPlan.decide({"dataset": f"{PARTS}{parts.path}"}, {**CHANGES, **changes})


def weights(folder: Path) -> bytes:
    return (folder / "weights.safetensors").read_bytes()


def test_a_run_on_parts_is_kept_and_read_like_any_other(parts, tmp_path):
    train_parts(plan_for(parts), parts, RunFolder(tmp_path / "run"), Group(), CPU)
    run = load_run(tmp_path / "run")
    data = run.data()
    assert data.graph.num_nodes == run.facts.num_nodes == 200
    predicted = run.predict(device="cpu").probability.argmax(1)
    test = data.split.test
    hits = (predicted[test] == data.y[test]).double().mean()
    assert float(hits) * 100 == pytest.approx(run.result.test_accuracy)
    assert run.result.num_test == len(test)


def test_what_was_begun_by_three_goes_on_with_two_and_ends_in_the_same_bits(parts, tmp_path):
    plan = plan_for(parts)
    train_parts(plan, parts, RunFolder(tmp_path / "whole"), Group(), CPU)
    asked = iter(range(1000))

    def work(group, resume, should_stop):
        # Two hosts: each keeps states of its own.
        folder = RunFolder(tmp_path / f"host-{group.rank}") if group.rank < 2 else None
        return train_parts(
            plan,
            parts,
            folder,
            group,
            CPU,
            resume=resume,
            checkpoint_seconds=0,
            should_stop=should_stop,
        )

    with pytest.raises(InterruptedRunError):
        on_threads(3, lambda group: work(group, False, lambda: group.rank == 2 and next(asked) > 4))
    runs = on_threads(2, lambda group: work(group, True, lambda: False))
    assert runs[0].result.scores == runs[1].result.scores
    assert (
        weights(tmp_path / "host-0") == weights(tmp_path / "host-1") == weights(tmp_path / "whole")
    )


def test_what_a_mesh_began_goes_on_with_another_of_the_same_slices_in_the_same_bits(
    parts, tmp_path
):
    plan = plan_for(parts)
    asked = iter(range(1000))

    def work(group, shape, name, resume=False, should_stop=lambda: False):
        # The first and the last process have other channels.
        host = {0: 0, group.size - 1: 1}.get(group.rank)
        folder = None if host is None else RunFolder(tmp_path / f"{name}-{host}")
        mesh = MeshShape.parse(shape)
        seconds = 3600 if group.rank else 0
        return train_parts(
            plan, parts, folder, group, CPU, mesh=mesh, resume=resume,
            checkpoint_seconds=seconds, should_stop=should_stop,
        )  # fmt: skip

    on_threads(2, lambda group: work(group, "1x2", "whole"))
    expected = weights(tmp_path / "whole-0")
    assert weights(tmp_path / "whole-1") == expected
    with pytest.raises(InterruptedRunError):
        on_threads(
            4,
            lambda group: work(
                group, "2x2", "run", should_stop=lambda: group.rank == 3 and next(asked) > 4
            ),
        )
    on_threads(2, lambda group: work(group, "1x2", "run", resume=True))
    assert weights(tmp_path / "run-0") == weights(tmp_path / "run-1") == expected
    run = load_run(tmp_path / "run-0")
    data = run.data()
    predicted = run.predict(device="cpu").probability.argmax(1)[data.split.test]
    hits = (predicted == data.y[data.split.test]).double().mean()
    assert float(hits) * 100 == pytest.approx(run.result.test_accuracy)


def test_the_newest_state_of_all_hosts_is_taken(parts, tmp_path):
    plan = plan_for(parts)
    train_parts(plan, parts, RunFolder(tmp_path / "whole"), Group(), CPU)

    def stopped(folder, epochs):
        asked = iter(range(1000))
        with pytest.raises(InterruptedRunError):
            train_parts(
                plan,
                parts,
                RunFolder(folder),
                Group(),
                CPU,
                should_stop=lambda: next(asked) >= epochs,
            )

    stopped(tmp_path / "host-0", 2)
    stopped(tmp_path / "host-1", 7)
    seen = []

    def work(group):
        folder = RunFolder(tmp_path / f"host-{group.rank}")
        return train_parts(
            plan, parts, folder, group, CPU, resume=True,
            should_stop=lambda: seen.append(group.rank) or False,
        )  # fmt: skip

    on_threads(2, work)
    # Eight of twelve epochs were there.
    assert len(seen) == 2 * 4
    assert weights(tmp_path / "host-0") == weights(tmp_path / "whole")


def test_a_run_that_ended_on_one_host_ends_on_all(parts, tmp_path):
    plan = plan_for(parts)
    train_parts(plan, parts, RunFolder(tmp_path / "host-0"), Group(), CPU)
    epochs = []

    def work(group):
        # The second process keeps no files, the third is of a host that had not written its own.
        folder = None if group.rank == 1 else RunFolder(tmp_path / f"host-{group.rank}")
        return train_parts(
            plan, parts, folder, group, CPU, resume=True,
            should_stop=lambda: epochs.append(1) or False,
        )  # fmt: skip

    runs = on_threads(3, work)
    assert epochs == []
    assert runs[0].result.scores == runs[1].result.scores == runs[2].result.scores
    assert weights(tmp_path / "host-2") == weights(tmp_path / "host-0")
    lines = [(tmp_path / f"host-{rank}" / "epochs.jsonl").read_text() for rank in (0, 2)]
    assert lines[0] == lines[1]


def test_a_run_that_failed_on_one_host_fails_on_all(parts, tmp_path):
    plan = plan_for(parts)
    folder = RunFolder(tmp_path / "host-0")
    train_parts(plan, parts, folder, Group(), CPU)
    folder.write({**folder.read(), "status": "failed", "error": "The loss is NaN."}, None)

    def work(group):
        folder = RunFolder(tmp_path / f"host-{group.rank}")
        with pytest.raises(AkgnnError, match=r"The loss is NaN\."):
            train_parts(plan, parts, folder, group, CPU, resume=True)
        return True

    assert on_threads(2, work) == [True] * 2


def test_where_one_process_goes_on_all_do(parts, tmp_path):
    plan = plan_for(parts)

    def work(group, resume):
        folder = RunFolder(tmp_path / f"host-{group.rank}")
        return train_parts(plan, parts, folder, group, CPU, resume=resume)

    on_threads(2, lambda group: work(group, False))
    # The second host was started anew and does not know that it is not the first time.
    runs = on_threads(2, lambda group: work(group, group.rank == 0))
    assert runs[0].result.scores == runs[1].result.scores
    with pytest.raises(RunFolderError, match="holds a run already"):
        on_threads(2, lambda group: work(group, False))


def test_processes_with_other_settings_are_refused_by_all(parts):
    def work(group):
        plan = plan_for(parts, learning_rate="0.1" if group.rank == 1 else "0.2")
        with pytest.raises(SettingsError, match="Process 1 was started with another learning_rate"):
            check_same_settings(plan, parts, group)
        return True

    assert on_threads(3, work) == [True] * 3


def test_processes_of_other_meshes_are_refused_by_all(parts):
    def work(group):
        mesh = MeshShape(2, 2) if group.rank == 3 else MeshShape(1, 4)
        with pytest.raises(SettingsError, match=r"Process 3 .* another mesh .*: 2x2 and 1x4"):
            train_parts(plan_for(parts), parts, None, group, CPU, mesh=mesh)
        return True

    assert on_threads(4, work) == [True] * 4


def test_what_is_wrong_with_one_process_all_of_them_say(parts, tmp_path):
    plan = plan_for(parts)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("")

    def work(group):
        folder = RunFolder(tmp_path / "taken") if group.rank == 1 else None
        with pytest.raises(RunFolderError, match=r"^Process 1: .*taken"):
            train_parts(plan, parts, folder, group, CPU)
        return True

    assert on_threads(2, work) == [True] * 2


def test_a_model_that_cannot_be_divided_is_refused(parts):
    plan = RunPlan.decide({"dataset": f"{PARTS}{parts.path}", "model": "gat"})
    with pytest.raises(SettingsError, match="cannot be trained on parts"):
        train_parts(plan, parts, None, Group(), CPU)


@pytest.mark.parametrize(
    ("mesh", "free", "is_kept"),
    [
        ("1x1", None, False),
        ("1x1", 10_000, False),
        ("1x1", 2**30, True),
        ("2x1", 0, True),
        ("1x2", 0, True),
    ],
)
@pytest.mark.parametrize("channels", [8, 16])
def test_memory_of_large_signals_is_kept_by_one_process_that_has_much(
    parts, mesh, free, is_kept, channels, monkeypatch
):
    called = []
    for name in ("keep_freed_memory", "give_back_signals"):
        monkeypatch.setattr(f"akgnn.runs.parted.{name}", partial(called.append, name))
    # 200 nodes with 8 channels.
    monkeypatch.setattr("akgnn.runs.parted.LARGE_SIGNAL", 200 * 8 * 4)
    monkeypatch.setattr("akgnn.runs.parted.free_bytes", lambda device: free)
    plan = plan_for(parts, hidden_channels=str(channels))
    keep_or_give_back(plan, parts, MeshShape.parse(mesh))
    # With twice the channels those of each of two processes are large too.
    is_kept = is_kept and (mesh == "1x1" or channels == 8)
    assert called == ["keep_freed_memory" if is_kept else "give_back_signals"]
