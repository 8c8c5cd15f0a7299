from dataclasses import replace

import pytest

from akgnn.errors import SpecError, UnknownNameError
from akgnn.experiments import PAPER, SPECS
from akgnn.experiments.runner import tasks_of
from akgnn.experiments.spec_files import SPECS_FOLDER, load_spec, read_spec
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


@pytest.mark.parametrize("name", SPECS)
def test_every_spec_that_comes_along_can_be_run(name):
    spec = load_spec(name)
    assert spec.name == name
    assert spec.title
    for cell in spec.cells:
        assert cell.row.seeds >= 5
        assert cell.plan(3).run.seed == 3


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
    assert len(plans[0] & table) == 60


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
    assert [plan.run.split_seed for plan in cell.plans()] == [0, 1, 2]


NOISY = GOOD.replace("num_layers = [1, 2]", "added_edges = [0, 0.5]")


def test_a_grid_may_vary_noise(read):
    plain, noisy, *_ = read(NOISY).cells
    assert plain.plan(2).run.dataset == "cora"
    assert [plan.run.dataset for plan in noisy.plans()] == [
        f"cora:added_edges=0.5,seed={seed}" for seed in range(3)
    ]
    assert (noisy.dataset, noisy.changes) == ("cora", {"readout": "mean"})
    assert "--dataset cora:added_edges=0.5,seed=G " in noisy.command(3)
    cell = read(NOISY.replace("seeds = 3", "seeds = 3\ndraws = 2")).cells[1]
    assert [plan.run.dataset[-1] for plan in cell.plans()] == ["0", "1", "0"]


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("0.5]", "-1]", 6, "added_edges must be from 0"),
        ("added_edges = [0, 0.5]", "dropped_features = [2]", 6, "from 0 to 1, got 2"),
        ('"pubmed"]', '"csbm"]', 2, "not generated, got 'csbm'"),
    ],
)
def test_a_mistake_in_noise_is_named(read, old, new, line, says):
    assert old in NOISY
    with pytest.raises(SpecError, match=says) as caught:
        read(NOISY.replace(old, new).replace("published = { cora = [84.4, 0.3] }\n", ""))
    assert f"line {line}" in str(caught.value)


VARIED = GOOD.replace(
    "num_layers = [1, 2]", 'num_layers = [1, 2]\nsplit = ["1-per-class", "public"]'
)


def test_a_grid_may_vary_the_split(read):
    first, second, *_ = read(VARIED).cells
    assert first.point == {"num_layers": 1, "split": "1-per-class"}
    # Of a random split seed i draws split i; the published one is the same for all.
    runs = [plan.run for plan in first.plans()]
    assert [(run.split, run.split_seed) for run in runs] == [("1-per-class", k) for k in range(3)]
    runs = [plan.run for plan in second.plans()]
    assert {(run.split, run.split_seed) for run in runs} == {("public", 0)}
    # It is no setting of the model.
    assert first.changes == {"readout": "mean", "num_layers": 1}
    assert first.command(3).endswith(
        "--set num_layers=1 --split 1-per-class --split-seed S --seed S"
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('"1-per-class"', '"one-per-class"', 7, "Unknown split 'one-per-class'"),
        ('"1-per-class"', "1", 7, "a split to try must be text, got 1"),
        ('["1-per-class", "public"]', '"public"', 7, "split must be a list"),
        ('"public"', '"public-#"', 7, "'draws' is missing"),
        ("seeds = 3", 'split = "public"', 3, "either the spec has a split or its grid varies it"),
    ],
)
def test_a_mistake_about_varied_splits_is_named_with_its_line(read, old, new, line, says):
    assert VARIED.count(old) == 1
    with pytest.raises(SpecError) as caught:
        read(VARIED.replace(old, new))
    assert says in str(caught.value)
    assert f"line {line}:" in str(caught.value), str(caught.value)


def test_a_sensitivity_study_shares_the_runs_of_the_preset_as_it_is():
    medium = {plan for cell in load_spec("medium").cells for plan in cell.plans()}
    for name in ("sensitivity-depth", "sensitivity-dropout", "sensitivity-width"):
        plans = {plan for cell in load_spec(name).cells for plan in cell.plans()}
        # Two rows on three graphs with five seeds.
        assert len(plans & medium) == 30


DRAWN = """title = "Drawn"
about = "No metric and no split is set here."
datasets = ["csbm:num_nodes=60,seed=#", "actor", "cora"]
seeds = 6
draws = 3
split = { actor = "public-#", cora = "60/20/20" }
metric = { actor = "roc_auc" } # not "cora"

[[rows]]
label = "SGC"
model = "sgc"
set = { epochs = 2 }
direction = "kept"
published = { "csbm:num_nodes=60,seed=#" = 50 }
"""


def test_runs_go_round_the_draws(read):
    generated, actor, cora = read(DRAWN).cells
    runs = [plan.run for plan in generated.plans()]
    assert [run.seed for run in runs] == [0, 1, 2, 3, 4, 5]
    assert [run.dataset[-6:] for run in runs] == [f"seed={draw}" for draw in (0, 1, 2, 0, 1, 2)]
    assert {(run.split, run.split_seed) for run in runs} == {(None, 0)}
    runs = [plan.run for plan in actor.plans()]
    assert [run.split for run in runs] == [f"public-{draw}" for draw in (0, 1, 2, 0, 1, 2)]
    assert {run.split_seed for run in runs} == {0}
    runs = [plan.run for plan in cora.plans()]
    assert [run.split_seed for run in runs] == [0, 1, 2, 0, 1, 2]
    assert {run.split for run in runs} == {"60/20/20"}


def test_metric_and_published_values_go_by_the_name_in_the_spec(read):
    generated, actor, cora = read(DRAWN).cells
    assert [cell.metric for cell in (generated, actor, cora)] == ["accuracy", "roc_auc", "accuracy"]
    assert generated.published.mean == 50
    assert read(DRAWN).datasets[0] == "csbm:num_nodes=60,seed=#"


def test_a_row_may_keep_directions(read):
    assert {cell.plan(1).run.direction for cell in read(DRAWN).cells} == {"kept"}
    assert {cell.plan(1).run.direction for cell in read(GOOD).cells} == {"symmetrised"}


def test_a_published_split_does_not_change_with_the_seed(read):
    cell = read(GOOD.replace("seeds = 3", 'split = "public"\nseeds = 3', 1)).cells[0]
    assert {(plan.run.split, plan.run.split_seed) for plan in cell.plans()} == {("public", 0)}
    assert cell.command(3).endswith(" --split public --seeds 3")


def test_draws_go_with_a_random_split_too(read):
    text = GOOD.replace("seeds = 3", 'split = "20-per-class"\ndraws = 2\nseeds = 3', 1)
    cell = read(text).cells[0]
    assert [plan.run.split_seed for plan in cell.plans()] == [0, 1, 0]


def test_commands_name_seed_and_draw(read):
    start, end = "akgnn train --dataset", "--seed S  # G is S mod 3"
    settings = "--model sgc --direction kept --set epochs=2"
    assert [cell.command(6) for cell in read(DRAWN).cells] == [
        f"{start} csbm:num_nodes=60,seed=G {settings} {end}",
        f"{start} actor {settings} --split public-G {end}",
        f"{start} cora {settings} --split 60/20/20 --split-seed G {end}",
    ]
    undrawn = replace(read(DRAWN).cells[2], draws=None)
    assert undrawn.command(6).endswith("--split 60/20/20 --split-seed S --seed S")


@pytest.mark.parametrize("place", [0, 2])
def test_the_command_of_a_draw_makes_the_same_plan(read, place, tmp_path):
    import json

    from akgnn.cli.main import main
    from akgnn.runs.plan import RunPlan

    cell, out = read(DRAWN).cells[place], tmp_path / "run"
    command = cell.command(6).partition("#")[0]
    words = [
        word.replace("=G", "=1").replace("G", "1") if word.endswith("G") else word
        for word in command.replace("--seed S", "--seed 4").split()[1:]
    ]
    assert main([*words, "--out", str(out)]) == 0
    record = json.loads((out / "run.json").read_text())
    assert RunPlan.from_dict(record["settings"]) == cell.plan(4)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("draws = 3", "", 3, "'draws' is missing"),
        ("draws = 3", "draws = 0", 5, "from 1 to 10000"),
        ("draws = 3", "draws = true", 5, "must be an integer"),
        ("seed=#", "sede=#", 3, "Did you mean 'seed'?"),
        ("public-#", "public#", 6, "Unknown split 'public#'"),
        ("60/20/20", "#-per-class", 6, "Unknown split '#-per-class'"),
        ('"60/20/20"', "60", 6, "the split of cora must be text"),
        ('{ actor = "public', '{ acter = "public', 6, "Did you mean 'actor'?"),
        ('split = { actor = "public-#", cora = "60/20/20" }', "split = 3", 6, "text or a table"),
        ("roc_auc", "auc_roc", 7, "Unknown metric 'auc_roc'"),
        ('{ actor = "roc', '{ pubmed = "roc', 7, "Unknown data set 'pubmed'"),
        ('"kept"', '"keep"', 13, "Did you mean 'kept'?"),
    ],
)
def test_a_mistake_about_draws_is_named_with_its_line(read, old, new, line, says):
    assert old in DRAWN
    with pytest.raises(SpecError) as caught:
        read(DRAWN.replace(old, new, 1))
    assert says in str(caught.value)
    assert f"line {line}:" in str(caught.value), str(caught.value)


def test_draws_of_nothing_are_refused(read):
    with pytest.raises(SpecError, match="line 3: draws needs a data set or split with #"):
        read(GOOD.replace("seeds = 3", "draws = 3", 1))
    with pytest.raises(SpecError, match="line 3: draws needs a data set or split with #"):
        read(GOOD.replace("seeds = 3", 'draws = 3\nsplit = "public-3"', 1))


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('model = "gcn"', 'model = "gncn"', 16, "Did you mean 'gcn'?"),
        ('model = "akgnn"', 'model = "akgnn"\npreset = "papre"', 11, "Did you mean 'paper'?"),
        ("readout =", "raedout =", 11, "Did you mean 'readout'?"),
        (
            '"mean"',
            '"average"',
            11,
            "Unknown readout 'average'; choose from concat, last, max, mean, sum",
        ),
        ("num_layers = [1, 2]", "num_layers = [1, 0]", 6, "from 1 to 1000"),
        ("num_layers = [1, 2]", "num_layers = 3", 6, "must be a list"),
        ("num_layers", "num_layer", 6, "Did you mean 'num_layers'?"),
        ('"pubmed"]', '"pumbed"]', 2, "Did you mean 'pubmed'?"),
        ("seeds = 4", "seeds = 0", 17, "from 1 to 10000"),
        ("seeds = 4", 'seeds = "4"', 17, "must be an integer"),
        ("seeds = 3", "sedes = 3", 3, "Did you mean 'seeds'?"),
        ("seeds = 3", 'shows = "tabel"', 3, "Did you mean 'table'?"),
        ("seeds = 3", 'shows = "homophily"', 2, "needs data sets csbm:homophily=…, got 'cora'"),
        (
            "[vary]\nnum_layers",
            'shows = "varied"\n[vary]\nepochs = [1]\nnum_layers',
            5,
            "one setting",
        ),
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
    with pytest.raises(SpecError, match=r"nowhere\.toml cannot be read: it is missing"):
        load_spec("nowhere.toml")


def test_a_spec_that_is_not_text(tmp_path):
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="not UTF-8"):
        read_spec(tmp_path / "x.toml")


def test_the_papers_experiments_come_first_and_each_once():
    assert SPECS[: len(PAPER)] == PAPER
    others = SPECS[len(PAPER) :]
    assert list(others) == sorted(others)
    assert {"consistency", "heterophily", "searched"} <= set(others)
    assert not set(others) & set(PAPER)


def test_every_name_has_its_file():
    assert sorted(SPECS) == sorted(file.stem for file in SPECS_FOLDER.glob("*.toml"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"seeds = {'9' * 5000}\n", "is not TOML: Exceeds the limit"),
        ("a = " + "[" * 5000, "is nested too deeply"),
        ("#" * 11_000_000, "is too large"),
    ],
)
def test_a_spec_that_python_cannot_read(tmp_path, text, words):
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(SpecError, match=words):
        load_spec(str(tmp_path / "x.toml"))


CHOOSING = (
    GOOD
    + """
[[rows]]
label = "the better"
chooses = [
    "AKGNN", "GCN",
]
published = { cora = 85 }
about = "by validation"
"""
)


def test_a_row_may_choose_among_others(read):
    akgnn, gcn, choosing = read(CHOOSING).rows
    assert choosing.chooses == ("AKGNN", "GCN")
    assert (choosing.published["cora"].mean, choosing.about) == (85, "by validation")
    # A seed that one of them lacks can have no choice.
    assert (akgnn.seeds, gcn.seeds, choosing.seeds) == (3, 4, 3)
    cells = read(CHOOSING).cells
    for one, other, chosen in zip(cells[:4], cells[4:8], cells[8:], strict=True):
        assert chosen.among == (one, other)
        assert (chosen.dataset, chosen.point) == (one.dataset, one.point)


def test_a_row_that_chooses_asks_for_no_runs_and_may_stand_first(read):
    head, akgnn, gcn, choosing = CHOOSING.split("[[rows]]")
    first = read("[[rows]]".join([head, choosing, akgnn, gcn]))
    assert [row.label for row in first.rows] == ["the better", "AKGNN", "GCN"]
    assert [cell.plans() for cell in first.cells[:4]] == [[]] * 4
    assert tasks_of([first]) == tasks_of([read(GOOD)])
    assert first.cells[0].command(3) == "akgnn reproduce, with the rest of the study"


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('"AKGNN", "GCN",', '"AKGNN", "GNC",', 21, "Unknown row 'GNC'; choose from AKGNN, GCN."),
        ('"AKGNN", "GCN",', '"AKGNN", "the better",', 21, "'the better' chooses itself"),
        ('"AKGNN", "GCN",', '"AKGNN",', 21, "labels of two or more rows, got ['AKGNN']"),
        ('"AKGNN", "GCN",', '"AKGNN", 3,', 21, "labels of two or more rows"),
        ("about =", 'model = "gcn"\nabout =', 25, "no 'model' of its own"),
        ("about =", 'preset = "paper"\nabout =', 25, "no 'preset' of its own"),
        ("about =", "set = { epochs = 2 }\nabout =", 25, "no 'set' of its own"),
        ("about =", "seeds = 3\nabout =", 25, "no 'seeds' of its own"),
        ("about =", "abuot =", 25, "Did you mean 'about'?"),
        ("{ cora = 85", "{ corra = 85", 24, "Did you mean 'cora'?"),
        ('"the better"', '"GCN"', 20, "another row with the label 'GCN'"),
    ],
)
def test_a_mistake_of_a_row_that_chooses_is_named_with_its_line(read, old, new, line, says):
    assert CHOOSING.count(old) == 1
    with pytest.raises(SpecError) as caught:
        read(CHOOSING.replace(old, new))
    assert says in str(caught.value)
    assert f"line {line}:" in str(caught.value), str(caught.value)


TRYING = GOOD.replace(
    'label = "GCN"\n',
    'label = "GCN"\ntries = [{ learning_rate = 0.02 }, { preset = "any-graph" }]\n',
)


def test_a_row_may_try_several_settings(read):
    _, gcn = read(TRYING).rows
    assert (gcn.label, len(gcn.tries)) == ("GCN", 2)
    for cell, plain in zip(read(TRYING).cells[4:], read(GOOD).cells[4:], strict=True):
        slow, other = cell.among
        assert (cell.dataset, cell.point) == (plain.dataset, plain.point)
        assert slow.plan(1) == replace(
            plain.plan(1),
            preset=replace(
                plain.plan(1).preset,
                training=replace(plain.plan(1).preset.training, learning_rate=0.02),
            ),
        )
        assert (slow.row.label, other.row.label) == ("learning_rate=0.02", "preset=any-graph")
        assert other.plan(0).run.preset == "any-graph"
        # Its runs are those of all that it tries.
        assert cell.plans(2) == [each.plan(seed) for each in (slow, other) for seed in (0, 1)]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("learning_rate = 0.02", "learning_rat = 0.02", "Did you mean 'learning_rate'?"),
        ('preset = "any-graph"', 'preset = "any-grap"', "Did you mean 'any-graph'?"),
        (', { preset = "any-graph" }', "", "two or more tables of settings"),
        ('{ preset = "any-graph" }', "3", "two or more tables of settings"),
    ],
)
def test_a_mistake_of_a_row_that_tries_is_named(read, old, new, says):
    assert TRYING.count(old) == 1
    with pytest.raises(SpecError) as caught:
        read(TRYING.replace(old, new))
    assert says in str(caught.value)


def test_what_tries_settings_is_not_chosen_from_again(read):
    text = CHOOSING.replace('label = "GCN"\n', 'label = "GCN"\ntries = [{}, { epochs = 3 }]\n')
    with pytest.raises(SpecError, match="name rows with one model and setting"):
        read(text)
