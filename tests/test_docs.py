"""The examples in docs/ run."""

import gzip
import re
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import akgnn
from akgnn.cli.main import main
from akgnn.distributed.folder import open_parts
from akgnn.layers.kernels import KERNELS

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def kernels():
    """A copy of the kernels that is forgotten afterwards."""
    before = dict(KERNELS)
    yield KERNELS
    KERNELS.clear()
    KERNELS.update(before)


def test_a_kernel_of_ones_own_takes_twenty_lines_and_learns(kernels, capsys):
    text = (DOCS / "kernels.md").read_text(encoding="utf-8")
    stating, using = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    names: dict[str, object] = {}
    exec(compile(stating, "kernels.md", "exec"), names)
    exec(compile(using, "kernels.md", "exec"), names)
    body = stating[stating.index("class ") :]
    assert len([line for line in body.splitlines() if line.strip()]) <= 20
    share = names["result"].neighbour_share
    assert len(share) == 5
    # Linked nodes differ, so it has learned to subtract them.
    assert share[0] < -0.1
    assert names["result"].test_accuracy > 90
    assert capsys.readouterr().out


def test_the_example_with_own_tables_runs(capsys):
    text = (DOCS / "own-data.md").read_text(encoding="utf-8")
    example, *_ = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    exec(compile(example, "own-data.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "NodeData(tables: 40 nodes, 80 edges, 7 features, 2 classes" in printed
    assert "p0 1 number scaled (5 features), 1 category column (2 features)" in printed
    assert "41 " in printed


def test_every_library_gets_from_data_to_predictions_in_five_lines(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    few = {"epochs": 20, "several_starts": False}
    monkeypatch.setattr(akgnn, "train", partial(akgnn.train, settings=few))
    ids = [f"p{k}" for k in range(40)]
    people = {"id": ids, "team": ["red"] * 20 + ["blue"] * 20, "age": range(40), "city": "Oslo"}
    pd.DataFrame(people).to_csv("people.csv", index=False)
    pd.DataFrame({"source": ids[1:], "target": ids[:-1]}).to_csv("friends.csv", index=False)
    text = (DOCS / "own-data.md").read_text(encoding="utf-8")
    text = text.partition("## In five lines")[2].partition("\n## ")[0]
    names: dict[str, Any] = {"akgnn": akgnn}
    printed = []
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.S):
        assert len([line for line in block.splitlines() if line]) <= 5
        exec(compile(block, "own-data.md", "exec"), names)
        printed.append(capsys.readouterr().out)
    pandas, polars, pyarrow, networkx, scipy, alone = printed
    for each in (pandas, pyarrow):
        assert re.match(r"\{'p0': '(red|blue)', 'p1': ", each)
    assert "┆" in polars
    assert {networkx, scipy} <= {"Officer\n", "Mr. Hi\n"}
    assert alone in ("{'x': 'red'}\n", "{'x': 'blue'}\n")


def test_a_node_is_explained_by_us_and_by_pyg(capsys):
    text = (DOCS / "seeing-why.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.S):
        exec(compile(block, "seeing-why.md", "exec"), names)
    why, explanation = names["why"], names["explanation"]
    assert len(why.neighbours) == why.num_neighbours > 0
    assert explanation.edge_mask.shape == (names["data"].graph.num_edges,)
    assert "speaks for" in capsys.readouterr().out


def test_the_estimator_does_as_its_page_says(tmp_path, monkeypatch, capsys):
    text = (DOCS / "estimator.md").read_text(encoding="utf-8")
    joining, framing, crossing, keeping = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    names: dict[str, Any] = {}
    exec(compile(joining, "estimator.md", "exec"), names)
    sides = [side for _, side in names["club"].nodes(data="club")]
    assert sum(names["clf"].predict(names["X"]) == sides) == 33
    monkeypatch.chdir(tmp_path)
    exec(compile(keeping, "estimator.md", "exec"), names)
    assert names["clf"].score(names["X"], sides) == 33 / 34
    capsys.readouterr()
    exec(compile(framing, "estimator.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "1 number scaled" in printed
    assert "['baker' 'dealer' 'baker'] ['baker' 'dealer' 'baker']" in printed
    exec(compile(crossing, "estimator.md", "exec"), names)
    assert float(capsys.readouterr().out) > 0.9


@pytest.mark.parametrize("file", sorted(DOCS.glob("*.md")), ids=lambda file: file.name)
def test_every_linked_file_exists(file):
    for link in re.findall(r"\]\(([^)#]+)\)", file.read_text(encoding="utf-8")):
        assert (file.parent / link).exists(), link


def test_the_picture_of_a_node_shows_what_its_page_prints():
    page = (DOCS / "seeing-why.md").read_text(encoding="utf-8")
    drawn = ElementTree.parse(DOCS / "pictures" / "explanation.svg").getroot()
    shown = ["".join(each.itertext()) for each in drawn.iter() if each.tag.endswith("}text")]
    printed = page.partition("$ akgnn explain run 2427")[2].partition("The node is a number")[0]
    neighbours = re.findall(r"^    (\d+) +([+−]\d\.\d\d) ", printed, flags=re.M)
    assert len(neighbours) == 3
    for name, effect in neighbours:
        assert {name, effect} <= set(shown)
    assert printed.splitlines()[1].strip() in shown


def test_plans_in_the_documents_are_those_that_the_command_prints(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    page = (DOCS / "cluster.md").read_text(encoding="utf-8")
    shown = re.findall(r"^    akgnn (plan [^\n]*)\n\n```text\n(.*?)\n```", page, flags=re.M | re.S)
    # Papers100M on 8, a billion nodes on 64, well cut and badly; ten billion on 256.
    assert len(shown) == 5
    for command, printed in shown:
        assert main(command.split()) == 0
        assert capsys.readouterr().out.rstrip() == printed


def test_papers100m_gets_from_its_files_to_parts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    number, edges = 60, generator.integers(0, 60, (2, 200))
    x = generator.random((number, 5), dtype=np.float32)
    label = np.full((number, 1), np.nan, dtype=np.float32)
    label[:30, 0] = np.arange(30) % 3
    for folder in ("raw", "split/time"):
        (tmp_path / "papers100M-bin" / folder).mkdir(parents=True)
    raw, time = tmp_path / "papers100M-bin/raw", tmp_path / "papers100M-bin/split/time"
    counts = {"num_nodes_list": np.array([number]), "num_edges_list": np.array([200])}
    np.savez_compressed(raw / "data.npz", edge_index=edges, node_feat=x, **counts)
    np.savez_compressed(raw / "node-label.npz", node_label=label)
    sets = {"train": range(15), "valid": range(15, 22), "test": range(22, 30)}
    for name, nodes in sets.items():
        with gzip.open(time / f"{name}.csv.gz", "wt") as file:
            file.write("".join(f"{node}\n" for node in nodes))
    page = (DOCS / "papers100m.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```py\n(.*?)```", page, flags=re.S)
    exec(compile(code, "papers100m.md", "exec"), {})
    cut, plan, train = re.findall(r"^    akgnn (.*)$", page, flags=re.M)
    assert main(cut.replace("64", "8").split()) == 0
    parts = open_parts("papers")
    assert (parts.facts.num_nodes, parts.facts.num_train, parts.facts.num_val) == (60, 15, 7)
    pairs = {frozenset(pair) for pair in edges.T.tolist() if len({*pair}) == 2}
    assert parts.facts.num_edges == 2 * len(pairs)
    first = parts.part(0)
    assert np.array_equal(first.x.numpy(), x[first.ids.numpy()])
    assert main(plan.split()) == 0
    capsys.readouterr()
    assert main([*train.replace("--processes 8 ", "").split(), "--set", "epochs=2"]) == 0
