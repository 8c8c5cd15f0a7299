import torch

from akgnn.data.pyg import sparse_if_sparse
from akgnn.data.tables.content_hash import content_sha256
from akgnn.graph import Graph


def test_every_part_of_the_content_counts():
    x, y = torch.eye(20), torch.arange(20) % 2
    index = torch.tensor([[0, 1], [1, 2]])
    weight = torch.tensor([1.0, 2.0])
    graph = Graph.from_edge_index(index, num_nodes=20)
    hashes = [
        content_sha256(x, y, graph, ("a", "b")),
        content_sha256(x + 1, y, graph, ("a", "b")),
        content_sha256(x.view(40, 10), y, graph, ("a", "b")),
        content_sha256(sparse_if_sparse(x), y, graph, ("a", "b")),
        content_sha256(sparse_if_sparse(2 * x), y, graph, ("a", "b")),
        content_sha256(x, 1 - y, graph, ("a", "b")),
        content_sha256(x, y, Graph.from_edge_index(index.flip(0), num_nodes=20), ("a", "b")),
        content_sha256(x, y, Graph.from_edge_index(index, weight, num_nodes=20), ("a", "b")),
        content_sha256(x, y, graph, ("a", "c")),
    ]
    assert len(set(hashes)) == len(hashes)
    assert content_sha256(x.clone(), y.clone(), graph, ("a", "b")) == hashes[0]
