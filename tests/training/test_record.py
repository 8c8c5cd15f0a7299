import copy
import json
from pathlib import Path

import pytest
import torch

from akgnn.errors import AkgnnError, CheckpointError, InterruptedRunError
from akgnn.training import record
from akgnn.training.checkpoint import RunFolder
from akgnn.training.plan import RunPlan, RunSettings
from akgnn.training.run import load_model
from akgnn.training.train_runs import train_run
from run_files import rewrite

PLAN = RunPlan.make(
    RunSettings(dataset="csbm:num_nodes=100"),
    {"epochs": 3, "hidden_channels": 4, "num_layers": 2, "patience": 3},
)
DATA = PLAN.load()
GONE = object()
WRONG = [GONE, None, "x", [], [1], {}, -1, 10**400, "\x1b[31m"]


def paths(content, prefix=()):
    """Every place in a record, but not the single numbers of its history."""
    for key, value in content.items():
        yield (*prefix, key)
        if isinstance(value, dict):
            yield from paths(value, (*prefix, key))


def changed(content, path, value):
    """The record with another value at one place."""
    other = copy.deepcopy(content)
    at = other
    for key in path[:-1]:
        at = at[key]
    if value is GONE:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return other


@pytest.fixture
def finished(tmp_path):
    folder = RunFolder(tmp_path / "finished")
    train_run(PLAN, DATA, folder)
    return folder


@pytest.fixture
def interrupted(tmp_path):
    folder = RunFolder(tmp_path / "interrupted")
    with pytest.raises(InterruptedRunError):
        train_run(PLAN, DATA, folder, should_stop=lambda: True)
    return folder


def use(folder):
    """Everything that commands do with a folder."""
    plan = record_plan(folder)
    train_run(plan, DATA, folder, resume=True)
    result, _ = load_model(folder)
    f"{result.fit.test_accuracy:.1f} {result.data['split']} {result.fit.lambda_max}"


def tried(folder, path, value):
    """The message with which a folder is refused, or None; anything else is a crash."""
    try:
        use(folder)
    except AkgnnError as error:
        return str(error)
    except Exception as error:
        raise AssertionError(f"{path} = {value!r}: {error!r}") from error
    return None


def record_plan(folder):
    from akgnn.training.run import plan_of

    return plan_of(folder, folder.read())


@pytest.mark.parametrize("kind", ["finished", "interrupted"])
def test_any_change_to_a_record_is_harmless_or_refused_in_words(kind, request):
    folder = request.getfixturevalue(kind)
    files = {item.name: item.read_bytes() for item in folder.path.iterdir()}
    content = json.loads(files["run.json"])
    refused = 0
    for path in paths(content):
        for value in WRONG:
            for item in folder.path.iterdir():
                item.unlink()
            for name, blob in files.items():
                (folder.path / name).write_bytes(blob)
            rewrite(folder.path / "run.json", changed(content, path, value))
            message = tried(folder, path, value)
            refused += message is not None
            assert message is None or message.isprintable(), (path, value)
    # Versions may say anything; nearly all else must not.
    assert refused > 300


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.update(foo=torch.ones(1)),
        lambda tensors: tensors.pop("model/transforms.0.weight"),
        lambda tensors: tensors.pop("best/transforms.0.weight"),
        lambda tensors: tensors.update({"model/transforms.0.weight": torch.ones(1)}),
        lambda tensors: tensors.update({"optimizer/x.exp_avg": torch.ones(1)}),
        lambda tensors: [tensors.pop(name) for name in list(tensors) if "optimizer" in name],
    ],
)
def test_a_state_with_other_tensors_is_refused(interrupted, change):
    content = interrupted.read()
    tensors = interrupted.read_weights(content)
    change(tensors)
    del content["format"]
    interrupted.write(content, tensors, content["weights"]["file"])
    with pytest.raises(CheckpointError):
        train_run(PLAN, DATA, interrupted, resume=True)


def test_columns_of_different_lengths_are_refused():
    columns = {name: [1.0] for name in ("train_loss", "train_accuracy", "val_loss")}
    with pytest.raises(ValueError, match="different lengths"):
        record.parse_history({**columns, "val_accuracy": [], "lambda_max": [[]]})


def test_a_column_of_roc_auc_is_whole_or_absent():
    names = ("train_loss", "train_accuracy", "val_loss", "val_accuracy")
    columns = {**{name: [1.0, 2.0] for name in names}, "lambda_max": [[], []]}
    assert record.parse_history(columns).val_roc_auc == []
    assert record.parse_history({**columns, "val_roc_auc": [7.0, 8.0]}).val_roc_auc == [7.0, 8.0]
    with pytest.raises(ValueError, match="val_roc_auc of the history has another length"):
        record.parse_history({**columns, "val_roc_auc": [7.0]})


def test_a_misfit_names_the_folder():
    misfit = pytest.raises(CheckpointError, match=r"record in runs/a is damaged or foreign: 'x'")
    with misfit, record.reading(Path("runs/a")):
        _ = {}["x"]


def test_deep_nesting_is_no_crash(tmp_path):
    (tmp_path / "run.json").write_text("[" * 200_000)
    with pytest.raises(CheckpointError, match="is damaged"):
        RunFolder(tmp_path).read()
