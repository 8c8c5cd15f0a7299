import pytest
import torch

from akgnn.distributed.division import spans_of
from akgnn.distributed.workload import cut_already, estimated_halo, planned
from akgnn.distributed.write import write_parts
from akgnn.errors import SettingsError
from parts_data import small_data, some_owner

SIZES = {"num_nodes": 100, "num_edges": 600, "num_features": 3, "num_classes": 2, "labelled": 0.5}


def test_the_halo_of_a_random_cut_is_that_of_the_formula_and_never_passed():
    generator = torch.Generator().manual_seed(1)
    nodes, degree, groups = 4000, 6, 8
    # Every node is the neighbour of as many others.
    neighbours = torch.stack([torch.randperm(nodes, generator=generator) for _ in range(degree)], 1)
    owner = torch.randint(groups, (nodes,), generator=generator)
    needed = [
        len(set(neighbours[owner == group].view(-1).tolist()) - set(_nodes(owner, group)))
        for group in range(groups)
    ]
    told = estimated_halo(nodes, nodes * degree, groups, "random")
    assert sum(needed) / groups == pytest.approx(told, rel=0.03)
    assert estimated_halo(nodes, nodes * degree, groups, 5.0) == told


def _nodes(owner, group):
    return (owner == group).nonzero().view(-1).tolist()


def test_a_good_cut_leaves_what_metis_left_of_pubmed():
    for groups, share in ((4, 0.20), (8, 0.35), (16, 0.5), (32, 0.7), (64, 0.9)):
        halo = estimated_halo(10**6, 10**8, groups, "good")
        assert halo * groups / 10**6 == pytest.approx(share, abs=0.03)
    assert estimated_halo(10**6, 10**8, 1, "good") == 0
    assert estimated_halo(10**6, 10**8, 8, 0.5) == 62_500


def test_a_graph_without_edges_has_no_halo():
    assert estimated_halo(100, 0, 8, "random") == estimated_halo(100, 0, 8, "good") == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_nodes": 0},
        {"num_edges": -1},
        {"num_features": 0},
        {"num_classes": 0},
        {"num_layers": 0},
        {"channels": 0},
        {"labelled": 1.5},
        {"labelled": -0.1},
    ],
)
def test_sizes_that_no_graph_has_are_refused(wrong):
    with pytest.raises(SettingsError, match=r"must be at least|is a share of the nodes"):
        planned(**{**SIZES, **wrong})


@pytest.mark.parametrize("kind", ["dense", "sparse", "directed"])
def test_a_folder_is_counted_for_any_number_of_groups(kind, tmp_path):
    data = small_data(kind)
    written = write_parts(tmp_path / "parts", data, some_owner(40, 7), cut="x")
    work = cut_already(written)
    assert work.num_edges == sum(
        written.part(i).col.numel() * (2 if kind == "directed" else 1) for i in range(7)
    )
    assert work.num_labelled == 15
    assert work.feature_entries == (200 if kind != "sparse" else data.x.num_entries)
    starts = written.facts.starts
    for groups in range(1, 8):
        halos = []
        for first, last in spans_of(7, groups):
            col = torch.cat([written.part(index).col for index in range(first, last)])
            outside = (col < starts[first]) | (col >= starts[last])
            halos.append(len(col[outside].unique()))
        assert work.share(groups).halo == max(halos)
        assert work.share(groups).processes == groups


def test_of_more_groups_than_are_counted_the_halo_is_bounded(tmp_path):
    data = small_data("dense", num_nodes=130)
    work = cut_already(write_parts(tmp_path / "parts", data, torch.arange(130), cut="x"))
    share = work.share(128)
    assert share.nodes == 2
    assert 0 < share.halo <= work.share(64).halo
