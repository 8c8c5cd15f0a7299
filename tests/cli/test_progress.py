import pytest

from akgnn.cli import progress
from akgnn.cli.progress import (
    Patience,
    RunsProgress,
    TrainingProgress,
    cases_progress,
    fitting,
)
from akgnn.experiments.record import failed_record
from akgnn.experiments.runner import Progress
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.training.callbacks import Epoch
from akgnn.training.history import History
from akgnn.training.settings import TrainSettings
from akgnn.training.state import EarlyStopping

TRAINING = TrainSettings(epochs=2000, patience=100)


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


def test_silent_for_half_a_minute_where_there_is_no_terminal(capsys):
    with TrainingProgress(1, TRAINING) as bar:
        bar.after_epoch([epoch([1.0, 0.5])])
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


@pytest.mark.usefixtures("_terminal")
def test_a_terminal_that_cannot_draw_gets_lines(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    with TrainingProgress(1, TRAINING) as bar:
        bar.after_epoch([epoch([1.0])])
    said = "akgnn: epoch 1 of 101 unless it improves · validation 81.2 % · best 1\n"
    assert capsys.readouterr().err == said


def test_without_a_terminal_a_line_comes_every_half_minute(capsys, monkeypatch):
    now = 0.0
    monkeypatch.setattr(progress, "monotonic", lambda: now)
    with TrainingProgress(30, TRAINING, kind="trial") as shown:
        for now in range(0, 100, 10):
            shown.after_epoch([epoch([1.0] * (1 + now), index=4)])
    captured = capsys.readouterr()
    assert captured.out == ""
    after = "of 101 unless it improves · validation 81.2 % · best 1"
    assert captured.err.splitlines() == [
        f"akgnn: trial 5 of 30 · epoch {count} {after}" for count in (31, 61, 91)
    ]


@pytest.mark.usefixtures("_terminal")
def test_a_terminal_sees_run_epoch_and_best(capsys):
    with TrainingProgress(3, TRAINING) as bar:
        # Of runs side by side the last one is shown.
        bar.after_epoch([epoch([1.0]), epoch([1.0, 0.5, 0.7, 0.6], index=1)])
        (task,) = bar.bar.tasks
        # The bar goes to where patience ends: 100 epochs after the best, the second.
        assert (task.completed, task.total) == (4, 102)
    text = capsys.readouterr().err
    assert "run 2 of 3 · epoch 4 of 102 unless it improves · validation 81.2 % · best 2" in text


@pytest.mark.parametrize(
    ("training", "losses", "words"),
    [
        (TRAINING, [1.0], "epoch 1 of 101 unless it improves"),
        # An improvement moves the end further away, and the words say why.
        (TRAINING, [1.0, 1.0, 1.0, 0.9], "epoch 4 of 104 unless it improves"),
        (TrainSettings(epochs=103), [1.0, 0.9, 0.9], "epoch 3 of 102 unless it improves"),
        (TrainSettings(epochs=103), [1.0, 0.9, 0.8], "epoch 3 of 103"),
        # Accuracy stays the same, and of equal ones loss decides.
        (TrainSettings(stop_on="accuracy"), [0.9, 1.0], "epoch 2 of 101 unless it improves"),
    ],
)
def test_the_words_say_what_the_bar_goes_to(training, losses, words):
    patience = Patience(training)
    patience.follow(epoch(losses).history)
    assert patience.words == words
    # However the epochs come.
    bit_by_bit = Patience(training)
    for number in range(len(losses)):
        bit_by_bit.follow(epoch(losses[: number + 1]).history)
    assert bit_by_bit.words == words


def test_patience_agrees_with_training():
    stopping = EarlyStopping(patience=5)
    followed = Patience(TrainSettings(patience=5))
    losses = [1.0, 0.5, 0.7, 0.6, 0.4, 0.9, 0.9, 0.9, 0.9, 0.9]
    for number, loss in enumerate(losses):
        stopping.update(number, loss, 0.0)
        followed.follow(epoch(losses[: number + 1]).history)
        assert stopping.is_over(number) == (followed.epoch == followed.ends_after)
    assert stopping.is_over(len(losses) - 1)


def test_every_restart_has_its_own_patience():
    history = History()
    for start, loss in [(0, 0.5), (0, 0.6), (0, 0.7), (1, 0.9), (1, 0.8)]:
        row = {"train_loss": 1.0, "train_accuracy": 1.0, "val_loss": loss, "val_accuracy": 1.0}
        history.append(**row, lambda_max=[], start=start)
    patience = Patience(TRAINING)
    patience.follow(history)
    assert patience.words == "start 2, epoch 2 of 102 unless it improves"
    assert patience.best == 2


@pytest.mark.usefixtures("_terminal")
def test_one_run_alone_has_no_number(capsys):
    with TrainingProgress(1, TRAINING) as bar:
        bar.after_epoch([epoch([1.0])])
    text = capsys.readouterr().err
    assert "epoch 1 of 101" in text
    assert "run" not in text


def test_parts_without_room_are_left_out():
    assert fitting(["one", "two", "three"], 9) == "one · two"
    assert fitting(["longer than the room"], 9) == "longer than the room"
    assert fitting(["one", "most", "two"], 10, most_important=1) == "one · most"
    assert fitting(["one", "most", "two"], 9, most_important=1) == "most"


def plan(seed, model="gcn"):
    return RunPlan.make(RunSettings(dataset="csbm", model=model, seed=seed))


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize(
    ("seconds", "left"), [(75.0, "75 s left"), (150.0, "2 min left"), (9000.0, "2.5 h left")]
)
def test_experiments_show_what_is_trained_and_how_long_it_will_take(seconds, left, capsys):
    names = {plan(seed): "GCN on csbm" for seed in range(3)} | {plan(0, "sgc"): "SGC on csbm"}
    record = failed_record(plan(0), "", versions={}, environment={})
    with RunsProgress(10, names) as shown:
        shown.before_runs([plan(0), plan(1), plan(2)])
        shown.before_runs([plan(0, "sgc")])
        first = shown.bar.tasks[0].description
        shown.after_run(Progress(record, 3, 10, seconds))
        second = shown.bar.tasks[0].description
    assert first == "0 of 10 runs done · GCN on csbm, seeds 0 to 2 and 1 more"
    assert second == f"3 of 10 runs done · GCN on csbm, seeds 1 to 2 and 1 more · {left}"


def test_an_experiment_without_a_terminal_says_now_and_then_what_it_trains(capsys, monkeypatch):
    clock = iter(range(0, 1000, 5))
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    with RunsProgress(42, {plan(3): "AKGNN on Cora"}) as shown:
        shown.before_runs([plan(3)])
        for _ in range(11):
            shown.tick()
    said = "akgnn: 0 of 42 runs done · AKGNN on Cora, seed 3\n"
    assert capsys.readouterr().err == 2 * said


@pytest.mark.usefixtures("_terminal")
def test_a_benchmark_shows_its_case_and_leaves_the_output_alone(capsys):
    with cases_progress(3) as show:
        show(1, "layer, even, 1,000 edges")
        print("a table")
    captured = capsys.readouterr()
    assert "2 of 3 · layer, even, 1,000 edges" in captured.err
    # Redirected to a file or a pipe it must arrive there, whoever watches the bar.
    assert captured.out == "a table\n"
