import pytest
import torch

from akgnn.data.catalogue import load_dataset
from akgnn.data.tables.load import load_tables
from akgnn.data.tables.settings import TableSettings
from akgnn.data.tables.write import ids_of, write_tables
from akgnn.errors import DataError


@pytest.mark.parametrize("name", ["csbm:num_nodes=90,num_features=5", "cora"])
def test_what_is_written_reads_back(name, tmp_path):
    data = load_dataset(name)
    write_tables(data, tmp_path)
    settings = TableSettings(nodes=str(tmp_path / "nodes.csv"), edges=str(tmp_path / "edges.csv"))
    read = load_tables(settings, split="split")
    assert read.ids.to_pylist() == ids_of(data)
    again = read.data
    assert again.class_names == tuple(sorted(data.class_names))
    names = [again.class_names[k] for k in again.y.tolist()]
    assert names == [data.class_names[k] for k in data.y.tolist()]
    assert torch.equal(again.graph.edge_index, data.graph.edge_index)
    for part in ("train", "val", "test"):
        assert torch.equal(getattr(again.split, part), getattr(data.split, part))
    dense = [x if isinstance(x, torch.Tensor) else x.to_dense() for x in (again.x, data.x)]
    assert torch.equal(*dense)


def test_part_of_the_nodes_has_the_edges_that_were_asked_for(tmp_path):
    data = load_dataset("csbm:num_nodes=90,num_features=5")
    write_tables(data, tmp_path / "a", nodes=range(10))
    write_tables(data, tmp_path / "b", nodes=range(10), edges="touching")
    source, target = data.graph.edge_index
    inside, touching = ((tmp_path / name / "edges.csv").read_text() for name in "ab")
    once = source < target
    assert inside.count("\n") == 1 + int((once & (source < 10) & (target < 10)).sum())
    assert touching.count("\n") == 1 + int((once & ((source < 10) | (target < 10))).sum())
    assert (tmp_path / "a" / "nodes.csv").read_text().count("\n") == 11


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="Cannot write to"):
        write_tables(load_dataset("csbm:num_nodes=60"), tmp_path / "file")
