from akgnn.experiments.results import collect
from akgnn.experiments.spec_files import read_spec
from akgnn.report.panel import groups_of

SPEC = """title = "Two by two"
datasets = ["cora", "pubmed"]
[vary]
num_layers = [1, 2]
[[rows]]
label = "A"
model = "akgnn"
[[rows]]
label = "B"
model = "gcn"
"""


def results_of(folder):
    file = folder / "grid.toml"
    file.write_text(SPEC)
    return collect(read_spec(file), [])


def test_a_group_has_the_grid_of_one_row_on_one_graph(tmp_path):
    groups = groups_of(results_of(tmp_path))
    assert [(g.label, g.graph) for g in groups] == [
        ("A", "Cora"),
        ("A", "PubMed"),
        ("B", "Cora"),
        ("B", "PubMed"),
    ]
    assert [r.cell.point["num_layers"] for r in groups[1].results] == [1, 2]


def test_titles_name_the_row_only_where_there_are_several(tmp_path):
    results = results_of(tmp_path)
    assert groups_of(results)[3].title == "B, PubMed"
    alone = [result for result in results if result.cell.row.label == "B"]
    assert [group.title for group in groups_of(alone)] == ["Cora", "PubMed"]
