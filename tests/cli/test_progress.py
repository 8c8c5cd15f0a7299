import pytest

from akgnn.cli import progress
from akgnn.cli.progress import TrainingProgress, cases_progress, runs_progress
from akgnn.experiments.record import failed_record
from akgnn.experiments.runner import Progress
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.training.callbacks import Epoch
from akgnn.training.history import History


def epoch(losses, index=0):
    history = History()
    for loss in losses:
        history.append(
            train_loss=1.0, train_accuracy=1.0, val_loss=loss, val_accuracy=81.25, lambda_max=[]
        )
    return Epoch(index, history, lambda: pytest.fail("a bar needs no snapshot"))


@pytest.fixture
def _terminal(monkeypatch):
    console = progress.Console
    monkeypatch.setattr(
        progress, "Console", lambda **options: console(force_terminal=True, width=120, **options)
    )


def test_silent_where_there_is_no_terminal(capsys):
    with TrainingProgress(1, patience=100) as bar:
        bar.after_epoch([epoch([1.0, 0.5])])
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


@pytest.mark.usefixtures("_terminal")
def test_a_terminal_sees_run_epoch_and_best(capsys):
    with TrainingProgress(3, patience=100) as bar:
        # Of runs side by side the last one is shown.
        bar.after_epoch([epoch([1.0]), epoch([1.0, 0.5, 0.7, 0.6], index=1)])
        (task,) = bar.bar.tasks
        # The bar fills up with the epochs since the best one.
        assert (task.completed, task.total) == (2, 100)
    text = capsys.readouterr().err
    assert "run 2 of 3" in text
    assert "epoch    4" in text
    assert "81.2 %" in text
    assert "best loss at    2" in text


@pytest.mark.usefixtures("_terminal")
def test_one_run_alone_has_no_number(capsys):
    with TrainingProgress(1, patience=100) as bar:
        bar.after_epoch([epoch([1.0])])
    text = capsys.readouterr().err
    assert "epoch    1" in text
    assert "run" not in text


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize(
    ("seconds", "left"), [(75.0, "75 s left"), (150.0, "2 min left"), (9000.0, "2.5 h left")]
)
def test_experiments_show_how_long_they_will_take(seconds, left, capsys):
    plan = RunPlan.make(RunSettings(dataset="csbm", model="gcn"))
    record = failed_record(plan, "", versions={}, environment={})
    with runs_progress(10) as show:
        show(Progress(record, 3, 10, seconds))
    assert f"3 of 10 runs · last gcn on csbm · {left}" in capsys.readouterr().err


@pytest.mark.usefixtures("_terminal")
def test_a_benchmark_shows_its_case_and_leaves_the_output_alone(capsys):
    with cases_progress(3) as show:
        show(1, "layer, even, 1,000 edges")
        print("a table")
    captured = capsys.readouterr()
    assert "2 of 3 · layer, even, 1,000 edges" in captured.err
    # Redirected to a file or a pipe it must arrive there, whoever watches the bar.
    assert captured.out == "a table\n"
