from akgnn.experiments.bundled import PAPER, spec_names, spec_path


def test_the_papers_experiments_come_first_and_each_once():
    names = spec_names()
    assert tuple(names[: len(PAPER)]) == PAPER
    others = names[len(PAPER) :]
    assert others == sorted(others)
    assert {"consistency", "heterophily", "searched"} <= set(others)
    assert not set(others) & set(PAPER)


def test_every_name_has_its_file():
    assert all(spec_path(name).is_file() for name in spec_names())
