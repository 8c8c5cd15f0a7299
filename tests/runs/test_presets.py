import pytest
import torch

from akgnn.data.catalogue import dataset_names, load_dataset
from akgnn.errors import SettingsError, UnknownNameError
from akgnn.models.registry import MODELS
from akgnn.runs.jobs import Job, run_job
from akgnn.runs.plan import RunPlan, RunSettings
from akgnn.runs.presets import list_presets, load_preset


@pytest.mark.parametrize("model", MODELS)
def test_every_preset_of_every_model_is_valid_on_every_data_set(model):
    for name, about in list_presets(model).items():
        assert about
        for dataset in dataset_names():
            load_preset(model, name, dataset)


@pytest.mark.parametrize("dataset", ["cora", "citeseer", "pubmed"])
def test_the_papers_settings(dataset):
    preset = load_preset("akgnn", "paper", dataset)
    model, training = preset.model, preset.training
    assert (model.num_layers, model.hidden_channels) == (5, 64)
    assert model.input_dropout == model.layer_dropout == 0.6
    assert (model.readout, model.normalisation) == ("sum", "sym")
    assert model.initialisation == "glorot_normal"
    assert (training.learning_rate, training.weight_decay, training.patience) == (0.01, 5e-4, 100)


@pytest.mark.parametrize(
    ("dataset", "layers", "hidden"), [("cora", 6, 64), ("citeseer", 5, 64), ("pubmed", 8, 128)]
)
def test_the_authors_code(dataset, layers, hidden):
    preset = load_preset("akgnn", "authors-code", dataset)
    model = preset.model
    assert (model.num_layers, model.hidden_channels) == (layers, hidden)
    assert (model.readout, model.normalisation) == ("concat", "row")
    assert (model.activation, model.initialisation) == ("leaky_relu", "uniform")
    assert model.input_dropout == 0
    assert model.transform_dropout == model.layer_dropout == model.classifier_dropout == 0.6
    assert preset.training.learning_rate == 0.05


@pytest.mark.parametrize(("dataset", "alpha"), [("cora", 1.4), ("citeseer", 0.8), ("pubmed", 1.4)])
def test_vbat_optimised_has_the_values_of_its_authors_code(dataset, alpha):
    preset = load_preset("vbat", "optimised", dataset)
    strategy, training = preset.strategy.settings, preset.training
    assert (strategy.adversary, strategy.alpha, strategy.beta) == ("optimised", alpha, 0.7)
    assert (strategy.steps, strategy.step_size, strategy.deviation) == (10, 0.001, 0.01)
    assert (preset.model.hidden_channels, preset.model.dropout) == (16, 0.5)
    assert (training.learning_rate, training.weight_decay, training.epochs) == (0.01, 5e-4, 200)
    assert training.decay_first_layer_only


@pytest.mark.parametrize(
    ("dataset", "layers", "width", "dropouts", "batch_norm", "rate", "stopping"),
    [
        ("cora", 8, 64, (0.5, 0.5), False, 0.01, ("loss", 400)),
        ("citeseer", 2, 256, (0.0, 0.2), False, 0.001, ("loss", 1000)),
        ("pubmed", 5, 32, (0.6, 0.8), True, 0.2, ("accuracy", 200)),
    ],
)
def test_consistency_has_grands_network(
    dataset, layers, width, dropouts, batch_norm, rate, stopping
):
    preset = load_preset("akgnn", "akgnn-consistency", dataset)
    model, training = preset.model, preset.training
    assert (model.order, model.readout) == ("propagate-first", "mean")
    assert (model.num_layers, model.hidden_channels) == (layers, width)
    # Where validation chose so.
    assert model.learn_lambda == (dataset != "citeseer")
    assert (model.input_dropout, model.transform_dropout) == dropouts
    assert (model.node_dropout, model.batch_norm) == (0.5, batch_norm)
    assert model.layer_dropout == model.classifier_dropout == 0
    decay = 2e-3 if dataset == "pubmed" else 5e-4
    assert (training.learning_rate, training.weight_decay) == (rate, decay)
    assert (training.stop_on, training.patience) == stopping
    # Drawn to λ = 2.
    assert (training.phi_learning_rate, training.phi_decays_to) == (0.01, "start")


@pytest.mark.parametrize(
    ("dataset", "loss"),
    [
        ("cora", (2, 0.1, 1.5, 1000, "squared", 2.0)),
        ("citeseer", (2, 0.1, 0.8, 1000, "cross-entropy", 2.0)),
        ("pubmed", (4, 0.2, 1.0, 0, "squared", 0.0)),
    ],
)
def test_consistency_has_the_loss_of_grand_or_of_grand_plus(dataset, loss):
    strategy = load_preset("akgnn", "akgnn-consistency", dataset).strategy
    assert strategy.name == "consistency"
    kept = strategy.to_dict()
    names = ("passes", "temperature", "weight", "warm_up", "distance", "confidence")
    assert tuple(kept[name] for name in names) == loss
    assert not kept["phi_sees_masks"]


def test_gprgnn_has_the_settings_of_its_authors_code():
    cora, pubmed = (load_preset("gprgnn", "paper", name) for name in ("cora", "pubmed"))
    model, training = cora.model, cora.training
    assert (model.num_layers, model.hidden_channels, model.alpha) == (10, 64, 0.1)
    assert model.dropout == model.propagation_dropout == 0.5
    assert (training.learning_rate, training.weight_decay, training.decay_biases) == (
        0.01,
        5e-4,
        True,
    )
    assert (training.epochs, training.patience, training.stop_on) == (1000, 200, "loss")
    assert (pubmed.model.alpha, pubmed.training.learning_rate) == (0.2, 0.05)


@pytest.mark.parametrize(
    "dataset", ["cora", "photo", "minesweeper", "chameleon-filtered", "roman-empire", "texas"]
)
@pytest.mark.parametrize("model", ["akgnn", "gcn", "graphsage", "gat", "mlp"])
def test_tuned_presets_train(model, dataset):
    plan = RunPlan.make(RunSettings(dataset=dataset, model=model, preset="tuned"), {"epochs": 2})
    run = run_job(Job(plan), load_dataset("csbm:num_nodes=60,num_classes=2,degree=4"))
    assert run.result.epochs == 2
    assert plan.preset.training.stop_on == ("roc_auc" if dataset == "minesweeper" else "accuracy")


@pytest.mark.parametrize(
    ("model", "dataset", "layers", "width", "norm", "residual", "rate", "epochs"),
    [
        ("gcn", "minesweeper", 12, 64, "batch", True, 0.01, 2000),
        ("gcn", "chameleon-filtered", 5, 512, "none", False, 0.005, 200),
        ("gcn", "photo", 6, 256, "layer", True, 0.001, 1000),
        ("graphsage", "minesweeper", 15, 64, "batch", True, 0.01, 2000),
        ("gat", "squirrel-filtered", 7, 512, "batch", True, 0.005, 500),
    ],
)
def test_tuned_presets_have_the_published_settings(
    model, dataset, layers, width, norm, residual, rate, epochs
):
    preset = load_preset(model, "tuned", dataset)
    settings = preset.model
    assert (settings.form, settings.num_layers, settings.hidden_channels) == (
        "blocks",
        layers,
        width,
    )
    assert (settings.norm, settings.residual) == (norm, residual)
    assert (preset.training.learning_rate, preset.training.epochs) == (rate, epochs)
    assert preset.to_dict()["model"].get("heads", 1) == 1


@pytest.mark.parametrize("dataset", ["minesweeper", "chameleon-filtered", "texas", "wine"])
def test_tuned_akgnn_begins_as_the_tuned_gcn(dataset):
    data = load_dataset("csbm:num_nodes=60,num_classes=2,degree=4")
    akgnn, gcn = (
        RunPlan.make(RunSettings(dataset=dataset, model=model, preset="tuned"))
        for model in ("akgnn", "gcn")
    )
    scores = [plan.build(data).eval()(data.x, data.graph) for plan in (akgnn, gcn)]
    torch.testing.assert_close(*scores)
    trained = [
        {name: value for name, value in plan.preset.training.to_dict().items() if name[:3] != "phi"}
        for plan in (akgnn, gcn)
    ]
    assert trained[0] == trained[1]
    dropped = akgnn.preset.model.layer_dropout, akgnn.preset.model.input_dropout
    assert dropped == (gcn.preset.model.dropout, gcn.preset.model.input_dropout)


def test_changes_reach_model_and_training():
    preset = load_preset("akgnn", "paper", "cora").updated({"num_layers": "8", "epochs": "3"})
    assert (preset.model.num_layers, preset.training.epochs) == (8, 3)


def test_wrong_names_and_values_are_answered():
    preset = load_preset("akgnn", "paper", "cora")
    with pytest.raises(UnknownNameError, match="Did you mean 'num_layers'"):
        preset.updated({"num_layer": "8"})
    with pytest.raises(SettingsError, match="num_layers must be an integer"):
        preset.updated({"num_layers": "many"})
    with pytest.raises(UnknownNameError, match=r"Unknown preset 'papr'.*Did you mean 'paper'"):
        load_preset("akgnn", "papr", "cora")
    with pytest.raises(UnknownNameError, match=r"With model mlp there is one\. Choose from any-"):
        load_preset("gcn", "unit-length", "cora")
    with pytest.raises(UnknownNameError, match="Unknown model"):
        list_presets("gcm")
