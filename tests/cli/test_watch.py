import pytest

from akgnn.cli import watch
from akgnn.cli.main import main
from akgnn.models.adaptive_network import AKGNNSettings
from akgnn.models.predict_first import MLPSettings
from akgnn.training.history import History

TOY = ["--dataset", "csbm:num_nodes=100", "--set", "epochs=6", "--set", "hidden_channels=8"]


def history(epochs, scalars):
    kept = History()
    for epoch in range(epochs):
        kept.append(
            train_loss=1 / (1 + epoch),
            train_accuracy=90.0,
            val_loss=2 / (1 + epoch),
            val_accuracy=80.0,
            lambda_max=[2.0 + 0.01 * epoch] * scalars,
        )
    return kept


@pytest.mark.parametrize(("width", "height"), [(59, 24), (79, 24), (99, 50)])
@pytest.mark.parametrize("num_layers", [2, 20])
def test_a_picture_fits_its_terminal(width, height, num_layers):
    model = AKGNNSettings(num_layers=num_layers)
    lines = watch.picture(history(50, num_layers), 0, model, width, height)
    assert max(len(line.plain) for line in lines) <= width
    # The line above it and the prompt below it have room too.
    assert len(lines) <= height - 2
    text = "\n".join(line.plain for line in lines)
    assert "validation 0.040" in text
    assert "training 0.020" in text
    assert "λ layer 2" in text
    assert "2.49" in text
    assert ("and 14 more" in text) == (num_layers == 20)


def test_the_epochs_of_earlier_restarts_are_left_out():
    lines = watch.picture(history(50, 0), 40, MLPSettings(), 79, 24)
    text = "\n".join(line.plain for line in lines)
    assert "epochs 41 to 50" in text
    assert "1.000" not in text
    assert "λ" not in text


@pytest.fixture
def _terminal(monkeypatch):
    from akgnn.cli import progress

    console = progress.Console
    options = {"force_terminal": True, "width": 70, "height": 30}
    monkeypatch.setattr(progress, "Console", lambda **given: console(**options, **given))


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize("more", [[], ["--seeds", "2"], ["--model", "gcn"]])
def test_a_terminal_sees_the_training(more, capsys):
    assert main(["train", *TOY, *more, "--watch"]) == 0
    captured = capsys.readouterr()
    assert "test accuracy" in captured.out
    assert "epoch 6, the last" in captured.err
    assert "accuracy, %" in captured.err
    assert ("run 2 of 2" in captured.err) == ("--seeds" in more)
    assert ("λ layer 5" in captured.err) == ("gcn" not in more)


def test_without_a_terminal_one_line_says_so(capsys):
    assert main(["train", *TOY, "--watch"]) == 0
    captured = capsys.readouterr()
    assert captured.err == (
        "akgnn: --watch draws in a terminal; here a line now and then says how far it is.\n"
    )
    assert "test accuracy" in captured.out


@pytest.mark.usefixtures("_terminal")
def test_a_picture_has_plain_letters_where_the_terminal_lacks_others(capsys, monkeypatch):
    monkeypatch.setattr("rich.console.Console.encoding", "ascii")
    assert main(["train", *TOY, "--watch"]) == 0
    shown = capsys.readouterr().err
    assert "lambda layer 5" in shown
    assert shown.isascii()
