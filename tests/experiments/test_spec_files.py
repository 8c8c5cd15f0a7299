import pytest

from akgnn.errors import SpecError, UnknownNameError
from akgnn.experiments.bundled import spec_names
from akgnn.experiments.spec_files import load_spec, read_spec
from akgnn.models.registry import MODELS

GOOD = """title = "Small"
datasets = ["cora", "pubmed"]
seeds = 3

[vary]
num_layers = [1, 2]

[[rows]]
label = "AKGNN"
model = "akgnn"
set = { readout = "mean" }
published = { cora = [84.4, 0.3] }

[[rows]]
label = "GCN"
model = "gcn"
seeds = 4
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        file = tmp_path / "small.toml"
        file.write_text(text)
        return read_spec(file)

    return read


@pytest.mark.parametrize("name", spec_names())
def test_every_spec_that_comes_along_can_be_run(name):
    spec = load_spec(name)
    assert spec.name == name
    assert spec.title
    for cell in spec.cells:
        assert cell.row.seeds >= 10
        assert cell.plan(3).which.seed == 3


def test_table1_has_every_model_of_the_paper_with_a_published_value_everywhere():
    spec = load_spec("table1")
    assert {row.model for row in spec.rows} == set(MODELS) - {"gprgnn", "mlp"}
    assert spec.datasets == ["cora", "citeseer", "pubmed"]
    assert all(60 < cell.published.mean < 90 for cell in spec.cells)


def test_the_figures_of_depth_share_their_runs():
    plans = [
        {p for cell in load_spec(name).cells for p in cell.plans()} for name in ("lambda", "depth")
    ]
    assert plans[0] == plans[1]
    table = {p for cell in load_spec("table1").cells for p in cell.plans()}
    assert len(plans[0] & table) == 30


def test_rows_data_sets_and_grid_make_cells(read):
    spec = read(GOOD)
    assert len(spec.cells) == 8
    assert [row.label for row in spec.rows] == ["AKGNN", "GCN"]
    first = spec.cells[0]
    assert first.template.preset.model.num_layers == 1
    assert first.template.preset.model.readout == "mean"
    assert (first.published.mean, first.published.std) == (84.4, 0.3)
    assert spec.cells[2].published is None
    assert len(first.plans()) == 3
    assert len(spec.cells[-1].plans()) == 4
    assert len(first.plans(7)) == 7


def test_a_random_split_goes_with_its_seed(read):
    cell = read(GOOD.replace("seeds = 3", 'split = "20-per-class"\nseeds = 3', 1)).cells[0]
    assert [plan.which.split_seed for plan in cell.plans()] == [0, 1, 2]


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('model = "gcn"', 'model = "gncn"', 16, "Did you mean 'gcn'?"),
        ('model = "akgnn"', 'model = "akgnn"\npreset = "papre"', 11, "Did you mean 'paper'?"),
        ("readout =", "raedout =", 11, "Did you mean 'readout'?"),
        ('"mean"', '"average"', 11, "one of sum, mean"),
        ("num_layers = [1, 2]", "num_layers = [1, 0]", 6, "from 1 to 1000"),
        ("num_layers = [1, 2]", "num_layers = 3", 6, "must be a list"),
        ("num_layers", "num_layer", 6, "Did you mean 'num_layers'?"),
        ('"pubmed"]', '"pumbed"]', 2, "Did you mean 'pubmed'?"),
        ("seeds = 4", "seeds = 0", 17, "from 1 to 10000"),
        ("seeds = 4", 'seeds = "4"', 17, "must be a whole number"),
        ("seeds = 3", "sedes = 3", 3, "Did you mean 'seeds'?"),
        ("seeds = 3", 'shows = "tabel"', 3, "Did you mean 'table'?"),
        ("seeds = 3", 'split = "half"', 3, "20-per-class"),
        ("[84.4, 0.3]", '"high"', 12, "must be a number or [mean, deviation]"),
        ("{ cora =", "{ corra =", 12, "Did you mean 'cora'?"),
        ('label = "GCN"\n', "", 14, "'label' is missing"),
        ('title = "Small"\n', "", 1, "'title' is missing"),
        ("seeds = 3", "seeds = ", 3, "is not TOML"),
    ],
)
def test_a_mistake_is_named_with_file_line_and_choices(read, old, new, line, says):
    assert old in GOOD
    with pytest.raises(SpecError) as caught:
        read(GOOD.replace(old, new))
    message = str(caught.value)
    assert "small.toml" in message
    assert says in message
    assert f"line {line}" in message, message


def test_an_experiment_that_does_not_exist():
    with pytest.raises(UnknownNameError, match="Did you mean 'table1'"):
        load_spec("table2")
    with pytest.raises(SpecError, match=r"nowhere\.toml cannot be read: No such file"):
        load_spec("nowhere.toml")


def test_a_spec_that_is_not_text(tmp_path):
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="not UTF-8"):
        read_spec(tmp_path / "x.toml")
