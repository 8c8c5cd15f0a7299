import json
import math
import warnings
from dataclasses import replace

import pandas as pd
import pytest
import torch

from akgnn.cli.main import main
from akgnn.data.catalogue import load_dataset
from akgnn.errors import (
    AloneWarning,
    CheckpointError,
    DataError,
    RunFolderError,
    SettingsError,
)
from akgnn.runs.api import train
from akgnn.runs.facts import DataFacts
from akgnn.runs.folder import RunFolder
from akgnn.runs.jobs import Job, run_job
from akgnn.runs.load import load_run
from akgnn.runs.plan import RunPlan, RunSettings
from run_files import rewrite
from written_tables import ids_of, write_tables

DATASET = "csbm:num_nodes=80,num_features=6,homophily=0.8,signal=6"
DATA = load_dataset(DATASET)
SETTINGS = {"epochs": 4, "patience": 4, "hidden_channels": 4, "num_layers": 2}
OWN = {"label": "label", "split": "split", "settings": SETTINGS}


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "run")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The data as two CSV files, and two of new nodes with edges among each other and to those."""
    folder = tmp_path_factory.mktemp("tables")
    write_tables(DATA, folder)
    nodes = pd.read_csv(folder / "nodes.csv", dtype={"id": str})[:9]
    # In another order of rows and columns than in training.
    new = nodes.assign(id=[f"new-{n}" for n in range(9)])[::-1].drop(columns=["label", "split"])
    new[new.columns[::-1]].to_csv(folder / "new-nodes.csv", index=False)
    links = [("new-0", "new-1"), ("new-2", ids_of(DATA)[3]), (ids_of(DATA)[5], "new-8")]
    pd.DataFrame(links, columns=["source", "target"]).to_csv(folder / "new-edges.csv", index=False)
    return folder


def frames(files, prefix=""):
    """The same tables in memory."""
    return tuple(
        pd.read_csv(files / f"{prefix}{name}.csv", dtype=str) for name in ("nodes", "edges")
    )


def typed(nodes):
    """With the features as numbers."""
    names = [name for name in nodes.columns if name.startswith("feature")]
    return nodes.astype(dict.fromkeys(names, float))


def test_a_run_on_a_data_set_is_that_of_its_plan():
    run = train(DATASET, model="gcn", settings={"epochs": 4, "hidden_channels": 4}, seed=3)
    plan = RunPlan.make(
        RunSettings(dataset=DATASET, model="gcn", seed=3), {"epochs": 4, "hidden_channels": 4}
    )
    alone = run_job(Job(plan), DATA)
    assert run.plan == plan
    assert run.facts == DataFacts.of(DATA)
    assert run.result.history == alone.result.history
    assert torch.equal(run.data().x, DATA.x)


def test_a_run_predicts_what_its_model_says():
    run = train(DATASET, settings=SETTINGS)
    predictions = run.predict(device="cpu")
    with torch.no_grad():
        logits = run.model(DATA.x, DATA.graph)
    probability = run.result.calibration.scaled(logits).softmax(1)
    assert run.result.temperature != 1
    assert torch.equal(predictions.probability, probability)
    assert predictions.ids is None
    nodes = DATA.split.test
    predicted = torch.tensor([int(label) for label in predictions.labels])
    hits = (predicted == DATA.y)[nodes].double().mean()
    assert 100 * float(hits) == pytest.approx(run.result.test_accuracy)


def test_csv_files_and_data_frames_give_the_same_run(files):
    from_files = train(nodes=files / "nodes.csv", edges=str(files / "edges.csv"), **OWN)
    nodes, edges = frames(files)
    from_frames = train(nodes=typed(nodes), edges=edges, **OWN)
    assert from_files.plan.run.preset == from_frames.plan.run.preset
    assert from_files.choice.chosen.plan.run.preset == from_files.plan.run.preset
    assert len(from_files.choice.tried) == 2
    assert from_files.plan.data_name == "nodes"
    assert from_files.result.history == from_frames.result.history
    assert from_files.predict().to_csv() == from_frames.predict().to_csv()
    assert from_files.predict().ids == ids_of(DATA)
    # The labels come through: the same nodes are trained on as in the data set.
    assert torch.equal(from_frames.data().split.test, DATA.split.test)
    new = files / "new-nodes.csv", files / "new-edges.csv"
    in_memory = frames(files, "new-")
    found = from_files.predict(*new).to_csv()
    assert found == from_frames.predict(typed(in_memory[0]), in_memory[1]).to_csv()


def test_new_nodes_without_edges_are_said_to_be_judged_alone(files, capsys, tmp_path):
    tables = {"nodes": files / "nodes.csv", "edges": files / "edges.csv", **OWN}
    run = train(out=tmp_path / "run", **tables)
    new = files / "new-nodes.csv", files / "new-edges.csv"
    with pytest.warns(AloneWarning, match="without `edges`, so they are judged by their columns"):
        alone = run.predict(new[0])
    assert alone.num_alone == len(alone) == 9
    linked = run.predict(*new)
    degrees = {i for line in new[1].read_text().splitlines()[1:] for i in line.split(",")[:2]}
    assert linked.num_alone == sum(str(name) not in degrees for name in linked.ids)
    assert run.predict().num_alone == 0
    capsys.readouterr()
    command = ["predict", str(tmp_path / "run"), "--nodes", str(new[0])]
    assert main(command) == 0
    told = capsys.readouterr()
    assert told.err == (
        "akgnn: 9 of 9 nodes have no edge and are judged by their columns alone; --edges names a "
        "table of edges.\n"
    )
    assert told.out == alone.to_csv()
    # In a loop once, and not at all of a model that sees no edges.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            run.predict(new[0])
        assert len(caught) == 1
        other = train(**{**tables, "model": "mlp", "settings": {"epochs": 2}})
        assert other.predict(new[0]).num_alone == 0
    assert len(caught) == 1


def test_python_and_the_command_predict_the_same(files, tmp_path):
    run = train(nodes=files / "nodes.csv", edges=files / "edges.csv", out=tmp_path / "run", **OWN)
    out = tmp_path / "predictions.csv"
    command = ["predict", str(tmp_path / "run"), "--out", str(out)]
    assert main(command) == 0
    assert run.predict().to_csv() == out.read_text()
    new = files / "new-nodes.csv", files / "new-edges.csv"
    assert main([*command, "--nodes", str(new[0]), "--edges", str(new[1])]) == 0
    assert run.predict(*new).to_csv() == out.read_text()
    assert run.predict(*new).ids == [f"new-{n}" for n in range(8, -1, -1)]


@pytest.mark.parametrize("kind", ["dataset", "tables"])
def test_a_kept_run_predicts_the_same_again(kind, files, folder):
    tables = {"nodes": files / "nodes.csv", "edges": files / "edges.csv", **OWN}
    given = {"dataset": DATASET, "settings": SETTINGS} if kind == "dataset" else tables
    run = train(out=folder.path, **given)
    again = load_run(folder.path)
    assert (again.plan, again.facts) == (run.plan, run.facts)
    assert repr(again.result) == repr(run.result)
    assert torch.equal(again.predict().probability, run.predict().probability)
    assert again.predict().to_csv() == run.predict().to_csv()
    assert repr(again.to_dict()) == repr(run.to_dict())
    assert train(out=folder.path, resume=True, **given).predict().to_csv() == run.predict().to_csv()


def test_tables_in_memory_are_not_kept_but_new_ones_are_predicted(files, folder):
    nodes, edges = frames(files)
    run = train(nodes=typed(nodes), edges=edges, out=folder.path, **OWN)
    again = load_run(folder.path)
    for ask in (again.data, again.predict):
        with pytest.raises(DataError, match="tables in memory, which are not kept"):
            ask()
    new_nodes, new_edges = frames(files, "new-")
    inside = new_edges[:1]
    assert again.predict(typed(new_nodes), inside).to_csv() == (
        run.predict(typed(new_nodes), inside).to_csv()
    )


def test_data_that_changed_are_refused(tmp_path):
    write_tables(DATA, tmp_path)
    nodes = tmp_path / "nodes.csv"
    train(nodes=nodes, edges=tmp_path / "edges.csv", out=tmp_path / "run", **OWN)
    run = load_run(tmp_path / "run")
    assert run.data().graph.num_nodes == 80
    table = pd.read_csv(nodes, dtype=str)
    table.loc[4, "feature_2"] = "7.5"
    table.to_csv(nodes, index=False)
    with pytest.raises(DataError, match=r"nodes\.csv has changed since the run"):
        run.data()
    nodes.unlink()
    with pytest.raises(DataError, match=r"nodes\.csv"):
        run.data()


def test_a_run_remembers_where_its_data_lay(monkeypatch):
    asked = []
    loaded = RunPlan.load

    def load(plan, data_root=None, *places, **tables):
        asked.append(data_root)
        return loaded(plan, None, *places, **tables)

    monkeypatch.setattr(RunPlan, "load", load)
    run = train(DATASET, settings={**SETTINGS, "epochs": 1}, data_root="there")
    run.data()
    run.predict()
    run.data("elsewhere")
    assert asked == ["there", "there", "there", "elsewhere"]


def test_another_data_set_is_predicted_if_it_fits():
    run = train(DATASET, settings=SETTINGS)
    other = run.predict(dataset="csbm:num_nodes=50,num_features=6")
    assert len(other) == 50
    with pytest.raises(DataError, match=r"takes 6 features and 4 classes, but .* has 7 and 3"):
        run.predict(dataset="csbm:num_nodes=60,num_features=7,num_classes=3")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"edges": "e.csv"}, "`edges` needs `nodes`"),
        ({"unknown_ids": "drop"}, "`unknown_ids` needs `nodes`"),
        ({"nodes": "n.csv", "dataset": "cora"}, "not both"),
        ({"nodes": "n.csv", "edges": "e.csv"}, "not on tables: it knows no columns"),
    ],
)
def test_questions_that_a_run_cannot_answer_are_refused(arguments, message):
    plan = RunPlan.make(RunSettings(dataset=DATASET), {**SETTINGS, "epochs": 1})
    with pytest.raises(SettingsError, match=message):
        run_job(Job(plan), DATA).predict(**arguments)


def test_weights_of_another_model_are_refused(folder, tmp_path):
    train(DATASET, settings=SETTINGS, out=folder.path)
    other = RunFolder(tmp_path / "other")
    train(DATASET, settings={**SETTINGS, "hidden_channels": 9}, out=other.path)
    content = folder.read()
    del content["format"]
    folder.write(content, other.read_weights(other.read()), "weights.safetensors")
    run = load_run(folder.path)
    with pytest.raises(CheckpointError, match="do not fit the model"):
        run.predict()


def test_weights_of_another_type_are_refused():
    run = train(DATASET, settings={**SETTINGS, "epochs": 1})
    weights = {name: tensor.double() for name, tensor in run.model.state_dict().items()}
    with pytest.raises(CheckpointError, match=r"are torch\.float64"):
        run.with_weights(weights)


def test_a_record_that_claims_a_giant_is_refused_before_it_takes_memory(folder):
    train(DATASET, settings={**SETTINGS, "epochs": 1}, out=folder.path)
    file = folder.path / "run.json"
    content = json.loads(file.read_text())
    content["settings"]["model"]["hidden_channels"] = 10**6
    rewrite(file, content)
    with pytest.raises(CheckpointError, match="do not fit the model"):
        load_run(folder.path).model  # noqa: B018


def test_a_folder_without_a_finished_run_is_refused(folder):
    with pytest.raises(CheckpointError, match="holds no run"):
        load_run(folder.path)
    folder.prepare()
    for content, error, message in (
        ({"status": "running"}, RunFolderError, "has not finished; train it with `resume=True`"),
        ({"status": "failed", "error": "Too high."}, RunFolderError, r"failed\. Too high\."),
        ({"status": "failed", "error": "\x1b[31m"}, CheckpointError, "not printable"),
        ({"status": "finished"}, CheckpointError, "'history' is missing"),
    ):
        folder.write(content, None)
        with pytest.raises(error, match=message):
            load_run(folder.path)


LATER = ("test_balanced_accuracy", "test_log_loss", "test_calibration_error", "test_roc_auc")


def test_a_run_from_before_there_were_more_scores_is_read(folder):
    run = train("csbm:num_nodes=80,num_classes=2", settings=SETTINGS, out=folder.path)
    assert len(run.result.history.val_roc_auc) == 4
    content = json.loads((folder.path / "run.json").read_text())
    for name in LATER:
        assert content["result"].pop(name) == run.result.scores[name]
    del content["history"]["val_roc_auc"]
    rewrite(folder.path / "run.json", content)
    result = load_run(folder.path).result
    assert result.test_accuracy == run.result.test_accuracy
    assert all(math.isnan(getattr(result, name)) for name in LATER)
    assert result.history.val_roc_auc == []


def test_a_run_knows_what_computed_it(folder):
    run = train(DATASET, settings={**SETTINGS, "epochs": 1}, out=folder.path)
    file = folder.path / "run.json"
    content = json.loads(file.read_text())
    content["versions"]["torch"] = "1.0"
    rewrite(file, content)
    assert load_run(folder.path).versions["torch"] == "1.0"
    assert replace(run, folder=None).versions["torch"] == torch.__version__


@pytest.mark.parametrize(
    ("number", "dataset", "words"),
    [
        (10**18, DATASET, "num_features is 1000000000000000000"),
        (6, "csbm:num_nodes=100000000", "has other sizes than the data of the run"),
        (6, "large:num_nodes=1000000000", "has other sizes than the data of the run"),
    ],
)
def test_sizes_that_a_record_claims_are_checked_before_they_are_made(
    folder, number, dataset, words
):
    plan = RunPlan.make(RunSettings(dataset=DATASET), SETTINGS)
    run_job(Job(plan, folder), DATA)
    content = folder.read()
    content["data"]["num_features"] = number
    content["settings"]["run"]["dataset"] = dataset
    rewrite(folder.path / "run.json", content)
    with pytest.raises(CheckpointError, match=words):
        load_run(folder.path)


def test_a_run_with_label_inputs_is_read_again(tmp_path):
    settings = {"strategy": "masked-labels", "epochs": 3}
    run = train("csbm:num_nodes=60,num_features=4", settings=settings, out=tmp_path / "run")
    again = load_run(tmp_path / "run")
    assert again.facts.num_features == 8
    assert again.data().has_label_inputs
    assert again.predict().to_csv() == run.predict().to_csv()


def test_new_nodes_are_predicted_where_the_tables_of_training_are_gone(files, tmp_path):
    for name in ("nodes.csv", "edges.csv"):
        (tmp_path / name).write_bytes((files / name).read_bytes())
    tables = {"nodes": tmp_path / "nodes.csv", "edges": tmp_path / "edges.csv"}
    made = train(**tables, preset="mixed-columns", out=tmp_path / "run", **OWN)
    assert made.plan.preset.strategy.takes_labels
    nodes, _ = frames(files, "new-")
    links = pd.DataFrame({"source": nodes["id"][:1], "target": nodes["id"].to_numpy()[1:2]})
    (tmp_path / "nodes.csv").unlink()
    assert len(load_run(tmp_path / "run").predict(typed(nodes), links)) == len(nodes)


NEAREST = {**OWN, "settings": {**SETTINGS, "epochs": 20}}


@pytest.fixture
def table(files):
    """The nodes in memory, and some of them as new rows."""
    nodes = pd.read_csv(files / "nodes.csv", dtype={"id": str})
    return nodes, nodes[:9].drop(columns=["label", "split"])


@pytest.mark.parametrize("preset", [None, "any-graph"])
def test_new_rows_are_linked_to_the_nearest_of_training(table, tmp_path, preset):
    nodes, new = table
    run = train(nodes=nodes, preset=preset, out=tmp_path / "run", **NEAREST)
    found = run.predict(new)
    assert (found.ids, found.num_alone) == (new["id"].tolist(), 0)
    # The folder keeps the rows, so that the table in memory is not needed.
    kept = load_run(tmp_path / "run")
    assert torch.equal(kept.predict(new[::-1]).probability, found.probability.flip(0))
    with pytest.raises(DataError, match="trained on tables in memory"):
        kept.predict()
    if preset is None:
        assert torch.equal(run.predict().probability[:9], found.probability)
        assert torch.equal(run.predict(new[:1]).probability, found.probability[:1])


def test_new_rows_are_linked_where_the_file_of_training_is_gone(files, table, tmp_path):
    nodes = tmp_path / "nodes.csv"
    nodes.write_bytes((files / "nodes.csv").read_bytes())
    expected = train(nodes=nodes, **NEAREST).predict(table[1])
    run = train(nodes=nodes, out=tmp_path / "run", **NEAREST)
    nodes.unlink()
    assert torch.equal(run.predict(table[1]).probability, expected.probability)


def test_labels_of_training_reach_new_rows(table, tmp_path):
    nodes, new = table
    run = train(nodes=nodes, preset="mixed-columns", out=tmp_path / "run", **NEAREST)
    assert run.plan.preset.strategy.takes_labels
    # As new ones: a row with the id of a training node has its label hidden.
    found = run.predict(new.assign(id="x" + new["id"])).probability
    kept = load_run(tmp_path / "run").predict(new.assign(id="x" + new["id"])).probability
    assert torch.equal(kept, found)


def test_rows_without_ids_are_numbered(table):
    nodes, new = (frame.drop(columns="id") for frame in table)
    run = train(nodes=nodes, **NEAREST)
    assert run.predict().ids == list(range(80))
    assert run.predict(new).ids == list(range(9))
    assert run.data().num_features == run.facts.num_features


def test_rows_in_a_folder_that_do_not_fit_are_told(table, tmp_path):
    nodes, new = table
    train(nodes=nodes, out=tmp_path / "run", **NEAREST)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    for column in record["data"]["recipe"]["columns"]:
        column["bounds"] = column["bounds"][:-1]
    rewrite(tmp_path / "run" / "run.json", record)
    with pytest.raises(CheckpointError, match="training rows do not fit the features"):
        load_run(tmp_path / "run").predict(new)
