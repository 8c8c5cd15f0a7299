import pytest

from akgnn import errors
from akgnn.errors import AkgnnError, UnknownNameError, did_you_mean, suggest


def test_a_misspelt_name_is_answered_with_the_choices_and_a_guess():
    error = UnknownNameError("model", "agknn", ["gcn", "akgnn", "appnp"])
    assert str(error) == (
        "Unknown model 'agknn'. Did you mean 'akgnn'? Choose from akgnn, appnp, gcn."
    )


def test_a_name_unlike_all_choices_gets_no_guess():
    assert suggest("zzzz", ["akgnn", "gcn"]) == "Choose from akgnn, gcn."
    assert did_you_mean("mine", ["paper", "signed", "smooth"]) == ""


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("gcm", "gcn"),
        ("cgn", "gcn"),
        ("sgd", "sgc"),
        ("gta", "gat"),
        ("mpl", "mlp"),
        ("ssg", "ssgc"),
    ],
)
def test_the_guess_takes_the_fewest_slips_of_the_hand(written, meant):
    models = ["akgnn", "appnp", "gat", "gcn", "mlp", "pgso", "sgc", "ssgc"]
    assert did_you_mean(written, models) == f" Did you mean {meant!r}?"


def test_the_guess_stands_before_the_choices():
    assert suggest("gcm", ["sgc", "gcn"]) == "Did you mean 'gcn'? Choose from gcn, sgc."


def test_case_does_not_matter_to_the_guess():
    assert "Did you mean 'cora'" in suggest("CORA", ["cora", "pubmed"])


@pytest.mark.parametrize(
    "name", [name for name in vars(errors) if name.endswith("Error") and name != "AkgnnError"]
)
def test_every_error_descends_from_the_root_and_from_a_builtin(name):
    error = getattr(errors, name)
    assert issubclass(error, AkgnnError)
    assert any(base.__module__ == "builtins" for base in error.__bases__)
