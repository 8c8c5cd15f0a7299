from akgnn.cli import progress
from akgnn.cli.progress import cases_progress, training_progress
from akgnn.training.history import History


def history(losses):
    result = History()
    for loss in losses:
        result.append(
            train_loss=1.0, train_accuracy=1.0, val_loss=loss, val_accuracy=81.25, lambda_max=[]
        )
    return result


def test_silent_where_there_is_no_terminal(capsys):
    with training_progress(1) as show:
        show(100, 0, history([1.0, 0.5]))
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_a_terminal_sees_run_epoch_and_best(monkeypatch, capsys):
    console = progress.Console
    monkeypatch.setattr(
        progress, "Console", lambda **options: console(force_terminal=True, width=120, **options)
    )
    with training_progress(3) as show:
        show(100, 1, history([1.0, 0.5, 0.7]))
    text = capsys.readouterr().err
    assert "run 2 of 3" in text
    assert "epoch    3" in text
    assert "81.2 %" in text
    assert "best loss at    2" in text


def test_a_benchmark_shows_its_case_and_leaves_the_output_alone(monkeypatch, capsys):
    console = progress.Console
    monkeypatch.setattr(
        progress, "Console", lambda **options: console(force_terminal=True, width=120, **options)
    )
    with cases_progress(3) as show:
        show(1, "layer, even, 1,000 edges")
        print("a table")
    captured = capsys.readouterr()
    assert "2 of 3 · layer, even, 1,000 edges" in captured.err
    # Redirected to a file or a pipe it must arrive there, whoever watches the bar.
    assert captured.out == "a table\n"
