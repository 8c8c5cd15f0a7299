import tomllib
from dataclasses import replace

import pytest

from akgnn.errors import RunFolderError
from akgnn.models.registry import MODELS
from akgnn.training.plan import RunPlan, RunSettings
from akgnn.training.presets import list_presets
from akgnn.tuning.best_file import settings_toml, write_best
from akgnn.tuning.score import Score
from akgnn.tuning.space import Dimension
from akgnn.tuning.trial import Search, Trial


@pytest.mark.parametrize("model", MODELS)
def test_every_plan_is_read_back_as_it_was(model):
    for preset in list_presets(model):
        plan = RunPlan.make(RunSettings(dataset='a "quoted" \\ ü', model=model, preset=preset))
        content = tomllib.loads(settings_toml(plan))
        assert RunPlan.from_record({"settings": content}) == plan


def test_none_goes_over_what_a_preset_says():
    plan = RunPlan.make(RunSettings(preset="searched"), {"phi_learning_rate": None})
    content = tomllib.loads(settings_toml(plan))
    assert RunPlan.make(plan.which).preset.updated_by_kind(content) == plan.preset


def search_of(*trials):
    plan = RunPlan.make(RunSettings(dataset="csbm", split="60/20/20"))
    space = (Dimension("learning_rate", 1e-6, 0.1, log=True),)
    return Search(plan, space, Score.of("accuracy"), "random:0", trials)


def test_the_file_says_where_the_settings_come_from(tmp_path):
    best = Trial(3, "finished", 81.25, {"learning_rate": 1.3e-5}, 9, 1.0)
    worse = replace(best, number=4, score=60.0)
    search = search_of(best, worse)
    write_best(search, tmp_path / "best.toml")
    text = (tmp_path / "best.toml").read_text(encoding="utf-8")
    assert text.startswith(
        "# Trial 3 of 2: validation accuracy 81.2 %.\n# Split random:0.\n\n[run]\n"
    )
    assert tomllib.loads(text)["training"]["learning_rate"] == 1.3e-5
    assert RunPlan.from_record({"settings": tomllib.loads(text)}) == search.plan_of(best)
    assert list(tmp_path.iterdir()) == [tmp_path / "best.toml"]


def test_nothing_is_written_where_nothing_has_finished(tmp_path):
    write_best(search_of(Trial(0, "pruned", 1.0, {}, 1, 1.0)), tmp_path / "best.toml")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    search = search_of(Trial(0, "finished", 1.0, {"learning_rate": 0.1}, 1, 1.0))
    with pytest.raises(RunFolderError, match=r"Cannot write .*best.toml: No such file"):
        write_best(search, tmp_path / "none" / "best.toml")
