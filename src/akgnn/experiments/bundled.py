"""The specs that come with akgnn, by name; nothing here needs torch."""

from importlib.resources import files
from pathlib import Path

# What the paper has, in its order; other experiments are asked for by name.
PAPER = ("table1", "ablation", "loss", "lambda", "depth", "splits")

_FOLDER = Path(str(files("akgnn.experiments") / "specs"))


def spec_names() -> list[str]:
    """The paper's experiments in its order, then the others by the alphabet."""
    return [*PAPER, *sorted({file.stem for file in _FOLDER.glob("*.toml")} - set(PAPER))]


def spec_path(name: str) -> Path:
    """The file of a spec."""
    return _FOLDER / f"{name}.toml"
