import subprocess
import sys

import pytest

import akgnn


@pytest.mark.parametrize("name", akgnn.__all__)
def test_every_public_name_can_be_had(name):
    assert getattr(akgnn, name) is not None
    assert name in dir(akgnn)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'AKGN'"):
        _ = akgnn.AKGN


@pytest.mark.parametrize(
    "code",
    [
        "import akgnn",
        "from akgnn.cli.main import main; main(['--help']); main(['train', '--help']); "
        "main(['reproduce', '--help'])",
    ],
)
def test_torch_is_not_loaded_before_it_is_needed(code):
    check = "; import sys; assert not {'torch', 'torch_geometric', 'scipy'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code + check], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
