from akgnn.experiments.bundled import PAPER, spec_names, spec_path


def test_the_papers_experiments_come_first_and_each_once():
    names = spec_names()
    assert tuple(names[: len(PAPER)]) == PAPER
    assert names[len(PAPER) :] == ["consistency", "patience", "searched"]


def test_every_name_has_its_file():
    assert all(spec_path(name).is_file() for name in spec_names())
