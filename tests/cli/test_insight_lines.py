from pathlib import Path
from types import SimpleNamespace

from akgnn.cli.insight_lines import print_insight
from akgnn.explain.suspects import Suspect


def test_a_command_that_is_shown_can_be_typed(capsys):
    """Ids are the user's own and may hold what a shell takes for its own signs."""
    doubtful = Suspect(0, "p 1; ls", "test", "a", "b", 0.1, 0.9, 3, 1, 2)
    print_insight(SimpleNamespace(classes=(), reliability=(), suspects=[doubtful]), Path("my run"))
    out = capsys.readouterr().out
    assert "akgnn explain 'my run' 'p 1; ls'" in out
    assert "Training labels" not in out
    assert "1 : 2" in out
