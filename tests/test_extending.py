"""Ten changes tried from outside the package, as docs/extending.md says; one is tried inside it."""

from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pytest
import torch

import akgnn
from akgnn.cli.main import flags_of_commands, main
from akgnn.data.catalogue import register_dataset
from akgnn.data.tables.readers import register_reader
from akgnn.data.tables.table import in_memory
from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.layers.kernels import PaperKernel
from akgnn.layers.linear import Linear
from akgnn.layers.readouts import Readout, register_readout
from akgnn.models.registry import ModelEntry, register_model
from akgnn.report.figures import FigureKind, figure_of, register_figure
from akgnn.report.panels import Panel
from akgnn.settings import Settings, count
from akgnn.training.metrics import Metric, register_metric
from akgnn.training.strategies.registry import StrategyEntry, register_strategy
from akgnn.training.strategies.supervised import training_loss
from akgnn.tuning.space import load_space
from registries import registries_restored

DATASET = "csbm:num_nodes=120,homophily=0.8"
FEW = {"epochs": 3, "hidden_channels": 8}


@pytest.fixture(autouse=True)
def _forgetful():
    with registries_restored():
        yield


class DoubledKernel(PaperKernel):
    """The paper's with twice the self-loop."""

    def self_loop(self, phi):
        return 2 * super().self_loop(phi)


def test_a_kernel():
    akgnn.register_kernel("doubled", DoubledKernel())
    run = akgnn.train(DATASET, settings={**FEW, "kernel": "doubled"})
    # It starts at λ = 1 + 2 · 1 and has learned since.
    assert run.result.history.lambda_max[0][0] == pytest.approx(3, abs=0.1)


def test_a_readout():
    register_readout("min", Readout(reduce=lambda signals: torch.stack(signals).amin(0)))
    run = akgnn.train(DATASET, settings={**FEW, "readout": "min"})
    assert run.plan.preset.model.readout == "min"
    assert run.model.readout.name == "min"


def test_a_metric(capsys):
    register_metric("errors", Metric(_errors, "errors", 0, lower_is_better=True, is_percent=False))
    run = akgnn.train(DATASET, settings={**FEW, "stop_on": "errors"})
    column = run.result.history.val_errors
    assert run.result.val_errors == min(column) == column[run.result.best_epoch - 1]
    assert run.to_dict()["test_errors"] == run.result.test_errors
    assert main(["train", "--dataset", DATASET, "--set", "epochs=2", "--folds", "2"]) == 0
    assert "errors" in capsys.readouterr().out


def _errors(logits, y):
    return float((logits.argmax(1) != y).sum())


@dataclass(frozen=True, kw_only=True)
class LinearSettings(Settings):
    """A linear model has no settings of its own, but a width that it ignores."""

    hidden_channels: int = count(16)


class LinearModel(torch.nn.Module):
    """One linear map."""

    def __init__(self, in_channels, hidden_channels, out_channels, *, generator=None):
        super().__init__()
        self.linear = Linear(in_channels, out_channels, generator=generator)

    def forward(self, x, graph, noise=None):
        return self.linear(x)


def test_a_model_with_presets_and_a_dimension_of_the_search(tmp_path):
    presets = tmp_path / "linear.toml"
    presets.write_text(
        '[paper]\nabout = "Quick"\ntraining = { epochs = 4 }\n\n'
        "[search]\nlearning_rate = { low = 0.001, high = 0.1, log = true }\n"
    )
    register_model("linear", ModelEntry(LinearModel, LinearSettings, "own", "", presets=presets))
    run = akgnn.train(DATASET, model="linear", out=tmp_path / "run")
    assert run.result.epochs == 4
    assert akgnn.load_run(tmp_path / "run").predict().labels == run.predict().labels
    assert [dimension.name for dimension in load_space("linear")] == ["learning_rate"]


def test_a_model_without_presets_has_its_defaults():
    register_model("linear", ModelEntry(LinearModel, LinearSettings, "own", ""))
    run = akgnn.train(DATASET, model="linear", settings={"epochs": 2})
    assert run.plan.preset.training == replace(akgnn.TrainSettings(), epochs=2)


class Twice:
    """Two steps an epoch."""

    def __init__(self, settings):
        self.settings = settings

    def losses(self, model, data, noise):
        for _ in range(2):
            yield training_loss(model(data.x, data.graph, noise), data)


def test_a_strategy():
    register_strategy("twice", StrategyEntry(Twice, Settings))
    once, twice = (akgnn.train(DATASET, settings={**FEW, **more}) for more in ({}, STRATEGY))
    assert twice.plan.preset.strategy.name == "twice"
    assert twice.result.history.train_loss != once.result.history.train_loss


STRATEGY = {"strategy": "twice"}


def test_a_data_set():
    data = akgnn.load_dataset(DATASET)
    register_dataset("mine", lambda: replace(data, name="mine"))
    assert akgnn.train("mine", settings=FEW).facts.name == "mine"


def test_a_table_format(tmp_path):
    register_reader(".feather", lambda path: in_memory(str(path), pa.feather.read_table(path)))
    ids = [f"n{number}" for number in range(40)]
    labels = ["even" if number % 2 == 0 else "odd" for number in range(40)]
    nodes = pa.table({"id": ids, "label": labels, "size": [float(n % 4) for n in range(40)]})
    edges = pa.table({"source": ids[:-2], "target": ids[2:]})
    for name, table in (("nodes", nodes), ("edges", edges)):
        pa.feather.write_feather(table, tmp_path / f"{name}.feather")
    run = akgnn.train(
        nodes=tmp_path / "nodes.feather", edges=tmp_path / "edges.feather", settings=FEW
    )
    assert run.predict().ids == ids


def test_a_figure(tmp_path):
    panel = Panel("mine", "A summary.", ("x",), [("1",)], {})
    register_figure("own", FigureKind(lambda results: [panel], "How to read it.", chart="depth"))
    file = tmp_path / "own.toml"
    file.write_text(
        f'title = "T"\nabout = "A."\nshows = "own"\ndatasets = ["{DATASET}"]\nseeds = 1\n\n'
        '[[rows]]\nlabel = "MLP"\nmodel = "mlp"\n'
    )
    spec = read_spec(file)
    figure = figure_of(spec, collect(spec, []))
    assert (figure.kind, figure.panels) == ("depth", (panel,))
    assert figure.about == "A. How to read it."


def test_an_option_of_train_is_known_to_the_command_from_its_signature():
    # Not possible from outside: cli/train.py declares it, or cli/options.py for several commands.
    assert {"--seeds", "--folds", "--dataset"} <= flags_of_commands()["train"]


def test_the_page_says_what_there_is():
    text = (Path(__file__).parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
    functions = (
        akgnn.register_kernel,
        register_readout,
        register_model,
        register_metric,
        register_strategy,
        register_dataset,
        register_reader,
        register_figure,
    )
    for function in functions:
        assert function.__name__ in text
