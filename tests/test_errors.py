import pytest

from akgnn import errors
from akgnn.errors import AkgnnError, UnknownNameError, suggest


def test_a_misspelt_name_is_answered_with_the_choices_and_a_guess():
    error = UnknownNameError("model", "agknn", ["gcn", "akgnn", "appnp"])
    assert str(error) == (
        "Unknown model 'agknn'; choose from akgnn, appnp, gcn. Did you mean 'akgnn'?"
    )


def test_a_name_unlike_all_choices_gets_no_guess():
    assert "Did you mean" not in suggest("zzzz", ["akgnn", "gcn"])


def test_case_does_not_matter_to_the_guess():
    assert "Did you mean 'cora'" in suggest("CORA", ["cora", "pubmed"])


@pytest.mark.parametrize(
    "name", [name for name in vars(errors) if name.endswith("Error") and name != "AkgnnError"]
)
def test_every_error_descends_from_the_root_and_from_a_builtin(name):
    error = getattr(errors, name)
    assert issubclass(error, AkgnnError)
    assert any(base.__module__ == "builtins" for base in error.__bases__)
