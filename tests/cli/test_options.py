import pytest

from akgnn.cli.options import check_range
from akgnn.errors import SettingsError


def test_a_number_outside_its_range_is_refused_and_none_is_not():
    check_range("--seeds", None, 1, 3)
    check_range("--seeds", 3, 1, 3)
    with pytest.raises(SettingsError, match="--seeds must be from 1 to 3, got 4"):
        check_range("--seeds", 4, 1, 3)
