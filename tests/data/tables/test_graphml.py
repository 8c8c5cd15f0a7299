import networkx as nx
import pytest
import torch

from akgnn.data.tables.convert import from_networkx, load_graphml
from akgnn.errors import DataError

HEAD = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="label" attr.type="string"/>
<key id="d1" for="node" attr.name="size" attr.type="double"><default>7</default></key>
<key id="d2" for="edge" attr.name="weight" attr.type="double"/>
<key id="d3" for="node" attr.name="known" attr.type="boolean"/>
"""
NODES = "".join(f'<node id="n{k}"><data key="d0">{"ab"[k % 2]}</data></node>\n' for k in range(5))


def graphml(body, default="undirected"):
    return f'{HEAD}<graph edgedefault="{default}">\n{NODES}{body}</graph></graphml>'


def test_a_file_of_networkx_gives_what_the_graph_gives(tmp_path):
    graph = nx.DiGraph()
    for k in range(6):
        more = {"size": k / 2, "number": k} if k % 2 else {"is_even": True}
        graph.add_node(f"n{k}", label="ab"[k // 3], **more)
        graph.add_edge(f"n{k}", f"n{(k * 3 + 1) % 6}", weight=k + 1)
    path = tmp_path / "small.graphml"
    nx.write_graphml(graph, path)
    for direction in ("kept", "symmetrised"):
        expected = from_networkx(graph, split="50/50/0", direction=direction)
        found = load_graphml(path, split="50/50/0", direction=direction)
        assert found.data.name == "small"
        assert found.ids.to_pylist() == list(graph)
        assert sorted(found.recipe.feature_names) == sorted(expected.recipe.feature_names)
        assert torch.equal(found.data.y, expected.data.y)
        assert torch.equal(
            found.data.graph.adjacency.to_dense(), expected.data.graph.adjacency.to_dense()
        )


def test_defaults_types_and_directions_of_single_edges(write):
    body = (
        '<node id="n5"><data key="d0"> </data><data key="d1">2</data>'
        '<data key="d3">false</data></node>'
        '<edge source="n0" target="n1" directed="true"><data key="d2">2.5</data></edge>'
        '<edge source="n1" target="n2"/>'
    )
    data = load_graphml(write("a.graphml", graphml(body)), direction="kept", split="50/50/0").data
    assert data.y.tolist() == [0, 1, 0, 1, 0, -1]
    assert data.x[:, 0].tolist() == [7, 7, 7, 7, 7, 2]
    assert data.graph.edge_index.T.tolist() == [[0, 1], [2, 1], [1, 2]]
    assert data.graph.edge_weight.tolist() == [2.5, 1, 1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is damaged or no XML"),
        ("<graphml><graph", "is damaged or no XML"),
        ('<?xml version="1.0" encoding="utf-4"?><a/>', "no XML: unknown encoding"),
        ("<html></html>", "holds no nodes"),
        (graphml('<edge source="n0" target="n9"/>'), "line 13: there is no node 'n9'"),
        (graphml('<edge source="n0"/>'), "line 13: <edge> lacks 'target'"),
        (graphml('<node id="n0"/>'), "line 13: a second node 'n0'"),
        (graphml('<hyperedge id="h"/>'), "line 13: a hyperedge"),
        (graphml('<node id="x"><graph edgedefault="directed"/></node>'), "line 13: a second graph"),
        (graphml('<node id="x"><data key="d9">1</data></node>'), "line 13: unknown key 'd9'"),
        (graphml('<node id="x"><data key="d1">big</data></node>'), "line 13: attribute 'size'"),
        (HEAD.replace("double", "complex") + "</graphml>", "unknown attr.type 'complex'"),
        (
            graphml('<edge source="n0" target="n1"><data key="d2">x</data></edge>').replace(
                'attr.name="weight" attr.type="double"', 'attr.name="weight" attr.type="string"'
            ),
            "line 13: the weight 'x' is no number",
        ),
    ],
)
def test_a_bad_file_is_refused(write, content, words):
    with pytest.raises(DataError, match=words):
        load_graphml(write("a.graphml", content))


def test_an_absent_file_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"gone\.graphml cannot be read"):
        load_graphml(tmp_path / "gone.graphml")
