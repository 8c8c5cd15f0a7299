"""Training tables that somebody edits after training.

Whatever the edit, a kept run gives the answers that it gave before, or says in one line that its
tables have changed. `AKGNN_EDITS=200` tries so many edits of each preset.
"""

import os
import random
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from akgnn.cli.main import main
from akgnn.errors import AkgnnError, CheckpointError, DataError
from akgnn.explain.explanation import explain_node
from akgnn.models.registry import MODELS
from akgnn.runs.api import train
from akgnn.runs.folder import RunFolder
from akgnn.runs.load import load_run
from akgnn.runs.presets import list_presets

pytestmark = pytest.mark.filterwarnings("ignore::akgnn.errors.AloneWarning")
EDITS = int(os.environ.get("AKGNN_EDITS", "6"))
PRESETS = [(model, preset) for model in MODELS for preset in list_presets(model)]
NODES, NEW = 72, 9


def make_tables():
    """Nodes of three teams with columns of all kinds, and their edges."""
    draw = np.random.default_rng(5)
    team = np.arange(NODES) % 3
    nodes = pd.DataFrame(
        {
            "id": [f"p{node:02d}" for node in range(NODES)],
            "team": np.array(["a", "b", "c"])[team],
            "city": np.where(draw.random(NODES) < 0.8, np.array(["Rom", "Bern", "Oslo"])[team], ""),
            "age": draw.normal(40 + 10 * team, 5).round(1),
            "visits": draw.integers(0, 9, NODES),
            "since": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(draw.integers(0, 900, NODES), "D"),
            "note": [
                f"{'red' if k else 'blue'} {word} thing"
                for k, word in zip(team, "xyz" * 24, strict=True)
            ],
            "serial": [f"s-{node}" for node in range(NODES)],
        }
    )
    nodes["since"] = nodes["since"].dt.strftime("%Y-%m-%d")
    ends = np.stack([np.arange(NODES).repeat(3), draw.integers(0, NODES, 3 * NODES)])
    ids = nodes["id"].to_numpy()
    edges = pd.DataFrame({"source": ids[ends[0]], "target": ids[ends[1]]})
    edges["strength"] = draw.random(len(edges)).round(3)
    return nodes, edges[edges.source != edges.target].reset_index(drop=True)


TABLES = make_tables()


def rename_cell(nodes, edges, draw):
    column, row = draw.choice(["team", "city", "note", "id"]), draw.randrange(len(nodes))
    nodes[column] = nodes[column].replace(nodes.loc[row, column], draw.choice(["zz", "Rom", "a"]))
    return nodes, edges


def rename_one_everywhere(nodes, edges, draw):
    old, new = nodes.loc[draw.randrange(len(nodes)), "id"], draw.choice(["new", "p00x", "0"])
    nodes["id"] = nodes["id"].replace(old, new)
    return nodes, renamed_ends(edges, {old: new})


def swap_two_ids(nodes, edges, draw):
    first, second = draw.sample(list(nodes["id"]), 2)
    swap = {first: second, second: first}
    nodes["id"] = nodes["id"].replace(swap)
    return nodes, renamed_ends(edges, swap) if draw.random() < 0.5 else edges


def renamed_ends(edges, names):
    return edges.assign(source=edges.source.replace(names), target=edges.target.replace(names))


def rename_header(nodes, edges, draw):
    column = draw.choice([*nodes.columns, *edges.columns])
    names = {column: f"{column}2"}
    return nodes.rename(columns=names), edges.rename(columns=names)


def append_rows(nodes, edges, draw):
    more = nodes.sample(draw.randint(1, 12), random_state=draw.randrange(99))
    more["id"] = [f"more-{number}" for number in range(len(more))]
    more["team"] = [draw.choice(["a", "b", "c", "d", None]) for _ in range(len(more))]
    return pd.concat([nodes, more], ignore_index=True), edges


def append_edges(nodes, edges, draw):
    ids = [*nodes.id, "nobody"] if draw.random() < 0.2 else list(nodes.id)
    ends = [draw.sample(ids, 2) for _ in range(draw.randint(1, 5))]
    more = pd.DataFrame(ends, columns=["source", "target"]).assign(strength=0.7)
    return nodes, pd.concat([edges, more], ignore_index=True)


def append_column(nodes, edges, draw):
    nodes.insert(draw.randrange(len(nodes.columns)), "extra", np.arange(len(nodes)) % 4)
    return nodes, edges.assign(extra=1.5)


def delete_rows(nodes, edges, draw):
    number = draw.randint(1, 30)
    if draw.random() < 0.5:
        return nodes.sample(len(nodes) - number, random_state=number).sort_index(), edges
    return nodes, edges.sample(len(edges) - number, random_state=number)


def delete_column(nodes, edges, draw):
    column = draw.choice([*nodes.columns, *edges.columns])
    return tuple(table.drop(columns=column, errors="ignore") for table in (nodes, edges))


def empty_cells(nodes, edges, draw):
    column = draw.choice([name for name in nodes.columns if name != "id"])
    rows = draw.sample(range(len(nodes)), 5)
    nodes[column] = nodes[column].where(~nodes.index.isin(rows))
    return nodes, edges


def shuffle_rows(nodes, edges, draw):
    seed = draw.randrange(99)
    if draw.random() < 0.5:
        return nodes.sample(frac=1, random_state=seed), edges
    return nodes, edges.sample(frac=1, random_state=seed)


def turn_edges_round(nodes, edges, draw):
    return nodes, edges.rename(columns={"source": "target", "target": "source"})


def repeat_edges(nodes, edges, draw):
    return nodes, pd.concat([edges, edges.head(draw.randint(1, 9))])


def reorder_columns(nodes, edges, draw):
    return nodes[draw.sample(list(nodes.columns), len(nodes.columns))], edges


def recode_labels(nodes, edges, draw):
    names = draw.sample(["a", "b", "c"], 3) if draw.random() < 0.5 else ["1", "2", "3"]
    return nodes.assign(team=nodes["team"].map(dict(zip("abc", names, strict=True)))), edges


def recode_column(nodes, edges, draw):
    column = draw.choice(["city", "age", "visits", "since", "serial"])
    if column in ("age", "visits"):
        values = nodes[column] * draw.choice([10, -1, 1e9]) + draw.choice([0, 0.5])
    else:
        values = nodes[column].map(lambda text: str(text).upper().replace("-", "/"))
    return nodes.assign(**{column: values}), edges


def change_type(nodes, edges, draw):
    column = draw.choice(["age", "visits", "strength", "city", "team"])
    kinds = ["category", "string"] if column in ("city", "team") else ["float32", "str", "bool"]
    kind = draw.choice(kinds)
    table = edges if column == "strength" else nodes
    table[column] = table[column].astype(kind)
    return nodes, edges


def change_unused(nodes, edges, draw):
    return nodes.assign(serial=[f"t-{draw.random()}" for _ in range(len(nodes))]), edges


CHANGES = [
    rename_cell, rename_one_everywhere, swap_two_ids, rename_header, append_rows, append_edges,
    append_column, delete_rows, delete_column, empty_cells, shuffle_rows, turn_edges_round,
    repeat_edges, reorder_columns, recode_labels, recode_column, change_type, change_unused,
]  # fmt: skip


def new_tables():
    """Nodes to predict, one of which was there in training, with edges to old ones and without."""
    nodes, _ = TABLES
    new = nodes.iloc[:NEW].drop(columns="team").assign(id=[f"new-{n}" for n in range(NEW)])
    new.loc[NEW - 1, "id"] = "p08"
    among = pd.DataFrame(
        {"source": ["new-0", "new-1"], "target": ["new-2", "p08"], "strength": 1.0}
    )
    links = pd.DataFrame({"source": ["new-0", "p05"], "target": ["p03", "new-4"], "strength": 0.5})
    return new, [None, among, pd.concat([among, links])]


def answers(run):
    """What a run says of its own nodes and of new ones: by id, or the error."""
    new, several = new_tables()
    asked = [()] + [(new, edges) for edges in several]
    found = []
    for tables in asked:
        try:
            predictions = run.predict(*tables)
        except AkgnnError as error:
            found.append(error)
        else:
            rows = predictions.probability.tolist()
            found.append(dict(zip(predictions.ids, rows, strict=True)))
    return found


@pytest.mark.parametrize(("model", "preset"), PRESETS)
def test_a_kept_run_says_the_same_or_that_its_tables_changed(model, preset, tmp_path):
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    for table, file in zip(TABLES, (nodes, edges), strict=True):
        table.to_csv(file, index=False)
    trained = train(
        nodes=nodes,
        edges=edges,
        label="team",
        weight="strength" if preset in ("any-graph", "mixed-columns") else None,
        model=model,
        preset=preset,
        settings={"epochs": 2},
        out=tmp_path / "run",
    )
    before = answers(load_run(trained.folder.path))
    assert all(isinstance(each, dict) for each in before)
    draw, refused = random.Random(f"{model} {preset}"), 0
    for _ in range(EDITS):
        change = draw.choice(CHANGES)
        edited = change(*(table.copy() for table in TABLES), draw)
        run = load_run(trained.folder.path)
        if draw.random() < 0.5:
            # As if the tables had been in memory, and changed there.
            run = replace(run, tables=edited)
        else:
            for table, file in zip(edited, (nodes, edges), strict=True):
                table.to_csv(file, index=False)
        for was, now in zip(before, answers(run), strict=True):
            is_error = isinstance(now, AkgnnError)
            assert is_error or now == was, change.__name__
            assert not is_error or "\n" not in str(now), change.__name__
            refused += is_error
        # New nodes without edges to old ones need none of the training tables.
        assert answers(run)[1:3] == before[1:3], change.__name__
    assert refused


@pytest.mark.parametrize("preset", ["nearest-neighbours", "mixed-columns", None])
def test_without_edges_new_rows_need_no_training_table(preset, tmp_path):
    file = tmp_path / "nodes.csv"
    TABLES[0].to_csv(file, index=False)
    given = {"nodes": file, "label": "team", "preset": preset, "settings": {"epochs": 2}}
    train(**given, out=tmp_path / "run")
    new = TABLES[0].iloc[:NEW].drop(columns="team")
    own, others = (load_run(tmp_path / "run").predict(*asked) for asked in ((), (new,)))
    draw = random.Random(str(preset))
    for _ in range(EDITS):
        change = draw.choice(CHANGES)
        change(*(table.copy() for table in TABLES), draw)[0].to_csv(file, index=False)
        run = load_run(tmp_path / "run")
        assert run.predict(new).probability.equal(others.probability), change.__name__
        try:
            assert run.predict().probability.equal(own.probability), change.__name__
        except DataError:
            continue


@pytest.mark.parametrize("change", [change_unused, append_column, reorder_columns])
def test_columns_that_the_model_does_not_use_may_change(change):
    settings = {"epochs": 2, "num_layers": 2}
    run = train(
        nodes=TABLES[0], edges=TABLES[1], label="team", preset="any-graph", settings=settings
    )
    edited = change(*(table.copy() for table in TABLES), random.Random(1))
    assert answers(replace(run, tables=edited)) == answers(run)


def kept(folder, preset="mixed-columns", **more):
    """The files of the tables, and a run on them in a folder."""
    files = folder / "nodes.csv", folder / "edges.csv"
    for table, file in zip(TABLES, files, strict=True):
        table.to_csv(file, index=False)
    settings = {"epochs": 30}
    given = {"nodes": files[0], "edges": files[1], "label": "team", "preset": preset, **more}
    train(**given, settings=settings, out=folder / "run")
    return files[0], folder / "run"


@pytest.mark.parametrize(
    "words",
    [
        ["predict"],
        ["explain", "p03"],
        ["export", "--out", "model.pt2"],
        ["report", "--out", "page.html"],
    ],
    ids=lambda words: words[0],
)
def test_commands_refuse_a_run_whose_table_changed(words, tmp_path, monkeypatch, capsys):
    nodes, run = kept(tmp_path)
    nodes.write_text(nodes.read_text().replace("Bern", "Zug"))
    monkeypatch.chdir(tmp_path)
    assert main([words[0], str(run), *words[1:]]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{nodes} has changed since the run was trained" in said
    assert not {"model.pt2", "page.html"} & {path.name for path in tmp_path.iterdir()}


def test_inspect_says_that_the_table_changed(tmp_path, capsys):
    nodes, run = kept(tmp_path)
    nodes.write_text(nodes.read_text().replace("Bern", "Zug"))
    assert main(["inspect", str(run)]) == 0
    assert "has changed since the run was trained" in capsys.readouterr().out


def test_a_changed_edge_table_is_named(tmp_path):
    _, run = kept(tmp_path)
    edges = tmp_path / "edges.csv"
    edges.write_text("\n".join(edges.read_text().splitlines()[:-3]))
    with pytest.raises(DataError, match=r"edges\.csv has changed"):
        load_run(run).predict()


def test_a_new_class_among_appended_rows_is_a_change(tmp_path):
    nodes, run = kept(tmp_path)
    more = TABLES[0].tail(9).assign(id=[f"q{n}" for n in range(9)], team="d")
    pd.concat([TABLES[0], more]).to_csv(nodes, index=False)
    with pytest.raises(DataError, match=r"nodes\.csv has changed"):
        load_run(run).predict()


def test_labels_that_are_inputs_are_those_of_training(tmp_path):
    nodes, run = kept(tmp_path)
    whole = [table.drop(columns=["team"], errors="ignore") for table in TABLES]
    before = load_run(run).predict(*whole)
    nodes.write_text(nodes.read_text().replace(",a,", ",z,"))
    after = load_run(run).predict(*whole)
    assert after.by_id == before.by_id
    assert after.probability.equal(before.probability)
    nodes.unlink()
    assert load_run(run).predict(*whole).probability.equal(before.probability)


def test_neither_order_nor_company_changes_a_prediction(tmp_path):
    _, run = kept(tmp_path)
    own = load_run(run).predict()
    expected = dict(zip(own.ids, own.probability, strict=True))
    nodes, edges = TABLES
    for seed in range(3):
        shuffled = nodes.sample(frac=1, random_state=seed)
        links = edges.sample(frac=1, random_state=seed)
        for rows in (shuffled, shuffled.head(10)):
            touching = links[links.source.isin(rows.id) | links.target.isin(rows.id)]
            found = load_run(run).predict(rows, touching)
            for node, row in zip(found.ids, found.probability, strict=True):
                assert torch.allclose(row, expected[node], atol=1e-5), node


def test_tables_in_memory_that_change_are_noticed():
    nodes, edges = (table.copy() for table in TABLES)
    run = train(nodes=nodes, edges=edges, label="team", preset="any-graph", settings={"epochs": 2})
    before = run.predict().by_id
    assert run.predict().by_id == before
    nodes.loc[3, "city"] = "Paris"
    with pytest.raises(DataError, match="The table of nodes has changed since"):
        run.predict()


def test_another_data_set_must_have_the_same_classes():
    run = train("csbm:num_nodes=60,num_features=4,num_classes=3", settings={"epochs": 2})
    other = replace(run.facts, class_names=("x", "y", "z"))
    with pytest.raises(DataError, match="has the classes x, y, z, but"):
        replace(run, facts=other).predict(dataset="csbm:num_nodes=80,num_features=4,num_classes=3")


def test_weights_that_are_too_large_are_refused():
    run = train(
        nodes=TABLES[0], edges=TABLES[1], label="team", weight="strength",
        preset="any-graph", settings={"epochs": 2},
    )  # fmt: skip
    heavy = TABLES[1].assign(strength=3.4e38)
    with pytest.raises(DataError, match=r"column 'strength': the weight is 3.4e\+38; it must"):
        run.predict(TABLES[0], heavy)


@pytest.mark.parametrize("preset", ["any-graph", "mixed-columns", "deep"])
def test_scores_that_are_not_finite_are_no_answer(preset):
    run = train(
        nodes=TABLES[0], edges=TABLES[1], label="team", preset=preset, settings={"epochs": 2}
    )
    with torch.no_grad():
        next(run.model.parameters()).fill_(torch.inf)
    several = r"no finite class scores for \d+ of \d+ nodes, first "
    with pytest.raises(DataError, match=f"{several}p00, p01"):
        run.predict()
    with pytest.raises(DataError, match=f"{several}new-0"):
        run.predict(new_tables()[0])
    with pytest.raises(DataError, match=several):
        explain_node(run.model, run.data(), 3)


def test_weights_that_are_not_finite_are_refused(tmp_path):
    _, path = kept(tmp_path)
    folder = RunFolder(path)
    content = folder.read()
    tensors = folder.read_weights(content)
    name = next(name for name, tensor in tensors.items() if tensor.is_floating_point())
    tensors[name].view(-1)[0] = float("nan")
    folder.write(content, tensors, "weights.safetensors")
    with pytest.raises(
        CheckpointError,
        match=f"weights of .*run hold numbers that are not finite, first in '{name}'",
    ):
        load_run(path).predict()
