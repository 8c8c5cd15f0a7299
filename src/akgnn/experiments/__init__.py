"""Experiments: what to measure (specs), the runner, the records, and statistics over them."""

# The specs that come along: what the paper has, in its order, and the others by the alphabet.
PAPER = ("table1", "ablation", "loss", "lambda", "depth", "splits")
OTHERS = (
    "budget", "consistency", "depth-readout", "direction", "elsewhere", "heterophily",
    "homophily", "kernels",
    "label-rate", "lambda-labels", "medium", "noise-edges", "noise-features", "patience",
    "public-code", "readouts", "scalars", "searched", "sensitivity-depth", "sensitivity-dropout",
    "sensitivity-width", "small-graphs",
)  # fmt: skip
SPECS = (*PAPER, *OTHERS)
