import sys
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from akgnn.data.catalogue import load_dataset
from akgnn.distributed.costs import CutCosts, Survey
from akgnn.distributed.cut import CUTS, cut_graph, has_metis, work_of
from akgnn.distributed.parts import cut_in_memory
from akgnn.errors import MissingExtraError, SettingsError, UnknownNameError
from akgnn.graph import Graph
from oracles import graphs, random_graph
from parts_data import small_data

needs_metis = pytest.mark.skipif(not has_metis(), reason="pymetis is not installed")
NAMES = [pytest.param("metis", marks=needs_metis), "order", "hash"]


def star(leaves: int) -> Graph:
    ends = torch.arange(1, leaves + 1)
    index = torch.stack([torch.zeros_like(ends), ends])
    return Graph.from_edge_index(torch.cat([index, index.flip(0)], 1))


def costs_of(graph: Graph, owner: torch.Tensor) -> CutCosts:
    data = small_data("dense", num_nodes=graph.num_nodes)
    parts = cut_in_memory(replace(data, graph=graph), owner)
    survey = Survey(parts.facts.starts)
    for part in parts.parts:
        survey.add(part)
    return survey.costs("x")


@pytest.mark.parametrize("cut", NAMES)
@given(graph=graphs(directed=True), share=st.floats(0, 1))
def test_every_part_has_nodes(cut: str, graph: Graph, share: float):
    num_parts = 1 + round(share * (graph.num_nodes - 1))
    owner = cut_graph(graph, num_parts, cut)
    assert owner.dtype == torch.int64
    assert sorted(set(owner.tolist())) == list(range(num_parts))


@pytest.mark.parametrize("cut", NAMES)
@pytest.mark.parametrize("num_parts", [2, 7, 30, 41])
def test_a_star_is_cut_into_as_many_parts_as_asked_for(
    cut: str, num_parts: int, capfd: pytest.CaptureFixture[str]
):
    owner = cut_graph(star(40), num_parts, cut)
    assert len(owner.unique()) == num_parts
    assert capfd.readouterr().out == ""


def test_order_keeps_the_order_and_shares_the_work():
    graph = load_dataset("pubmed").graph
    owner = cut_graph(graph, 24, "order")
    assert bool((owner.diff() >= 0).all())
    work = torch.zeros(24, dtype=torch.float64).index_add_(0, owner, work_of(graph))
    assert float(work.max() / work.mean()) < 1.06


def test_a_hub_at_the_end_leaves_nodes_for_all_parts():
    hub_last = Graph.from_edge_index(40 - star(40).edge_index)
    assert len(cut_graph(hub_last, 20, "order").unique()) == 20


def test_hash_deals_nodes_out_evenly_and_the_same_every_time():
    graph = load_dataset("pubmed").graph
    owner = cut_graph(graph, 8, "hash")
    sizes = torch.bincount(owner)
    expected = graph.num_nodes / 8
    assert float((sizes - expected).abs().max()) < 5 * expected**0.5
    assert torch.equal(owner, cut_graph(graph, 8, "hash"))


@needs_metis
def test_metis_has_small_halos_and_even_work_on_pubmed():
    graph = load_dataset("pubmed").graph
    owner = cut_graph(graph, 8, "metis")
    assert torch.equal(owner, cut_graph(graph, 8, "metis"))
    costs, dealt = costs_of(graph, owner), costs_of(graph, cut_graph(graph, 8, "hash"))
    assert costs.work_balance < 1.05
    assert costs.edge_cut < 0.2 < dealt.edge_cut
    assert costs.largest_halo < dealt.largest_halo / 3


@needs_metis
def test_metis_cuts_directed_graphs_and_graphs_without_edges():
    assert len(cut_graph(random_graph(1, directed=True), 3, "metis").unique()) == 3
    none = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.int64), num_nodes=9)
    assert len(cut_graph(none, 3, "metis").unique()) == 3


def test_work_is_the_degree_and_its_mean():
    assert work_of(star(3)).tolist() == [3 + 1.5, 2.5, 2.5, 2.5]
    into_2 = Graph.from_edge_index(torch.tensor([[0, 1], [2, 2]]), num_nodes=4)
    assert work_of(into_2).tolist() == [1.0, 1.0, 1.5, 0.5]


@pytest.mark.parametrize("num_parts", [0, -3, 10_001])
def test_impossible_numbers_of_parts_are_refused(num_parts: int):
    with pytest.raises(SettingsError, match=r"`parts` must be from 1 to 10,000"):
        cut_graph(star(4), num_parts, "order")


def test_more_parts_than_nodes_are_refused():
    with pytest.raises(SettingsError, match="`parts=6` is more than the graph has nodes, 5"):
        cut_graph(star(4), 6, "order")


def test_an_unknown_cut_is_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'metis'"):
        cut_graph(star(4), 2, "metsi")
    assert list(CUTS) == ["metis", "order", "hash"]


def test_without_pymetis_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    modules: dict[str, Any] = sys.modules
    monkeypatch.setitem(modules, "pymetis", None)
    with pytest.raises(
        MissingExtraError, match=r"The cut metis needs .* pip install 'akgnn\[cut\]'"
    ):
        cut_graph(star(4), 2, "metis")
