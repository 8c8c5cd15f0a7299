import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from akgnn.cli.main import main
from akgnn.errors import MissingExtraError, RunFolderError
from akgnn.trackers import tensorboard
from akgnn.trackers.tensorboard import TensorBoard

TOY = ["--dataset", "csbm:num_nodes=150", "--set", "epochs=4", "--set", "hidden_channels=8"]


def read(folder):
    (run,) = folder.iterdir()
    return EventAccumulator(str(run)).Reload()


def test_curves_settings_and_results_can_be_read_back(tmp_path):
    assert main(["train", *TOY, "--track", f"tensorboard:{tmp_path}"]) == 0
    events = read(tmp_path)
    wanted = {"loss/train", "accuracy/validation", "lambda_max/layer 5", "neighbour_share/layer 1"}
    assert wanted <= set(events.Tags()["scalars"])
    assert [point.step for point in events.Scalars("loss/validation")] == [1, 2, 3, 4]
    assert len(events.Scalars("result/test_accuracy")) == 1
    hparams = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    assert b"model.num_layers" in hparams


def test_a_run_that_goes_on_shows_every_epoch_once(tmp_path):
    for is_resumed in (False, True):
        tracker = TensorBoard(tmp_path)
        tracker.open()
        tracker.begin("run", is_resumed=is_resumed)
        for number in (1, 2, 3):
            tracker.epoch("run", number, {"loss/train": 10.0 * is_resumed + number})
        tracker.close()
    points = read(tmp_path).Scalars("loss/train")
    assert [(point.step, point.value) for point in points] == [(1, 11), (2, 12), (3, 13)]


def test_many_runs_do_not_keep_their_files_open(tmp_path, monkeypatch):
    monkeypatch.setattr(tensorboard, "_MOST_OPEN", 2)
    tracker = TensorBoard(tmp_path)
    for run in range(5):
        tracker.begin(f"run-{run}", is_resumed=False)
        tracker.epoch(f"run-{run}", 1, {"loss/train": 1.0})
    is_open = [writer.file_writer is not None for writer in tracker._writers.values()]
    assert is_open == [False] * 4 + [True]
    tracker.epoch("run-0", 2, {"loss/train": 2.0})
    tracker.close()
    points = EventAccumulator(str(tmp_path / "run-0")).Reload().Scalars("loss/train")
    assert [point.value for point in points] == [1.0, 2.0]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match=r"Cannot write to the folder .*file"):
        TensorBoard(tmp_path / "file" / "runs").open()


def test_the_extra_is_named_where_the_package_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingExtraError, match=r"TensorBoard needs .*akgnn\[trackers\]"):
        TensorBoard(Path("runs"))


FULL = """
import sys
from pathlib import Path
from akgnn.errors import RunFolderError
from akgnn.trackers.tensorboard import TensorBoard
tracker = TensorBoard(Path(sys.argv[1]))
tracker.open()
try:
    tracker.begin("run", is_resumed=False)
    for number in range(5000):
        tracker.epoch("run", number, {"loss/train": 1.0})
except RunFolderError as error:
    print(error)
finally:
    tracker.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of Unix")
def test_a_full_disk_is_told_in_one_line(tmp_path):
    command = f"ulimit -f 8; exec {sys.executable} -c '{FULL}' {tmp_path}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == f"TensorBoard's files in {tmp_path} cannot be written: File too large.\n"


def test_other_threads_keep_their_tracebacks(tmp_path):
    before = threading.excepthook
    tracker = TensorBoard(tmp_path)
    tracker.open()
    assert threading.excepthook != before
    tracker.close()
    assert threading.excepthook == before
