"""What `akgnn train` shows while it trains: bars, or a line now and then, and how to go on."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from akgnn.cli.flags import in_flags
from akgnn.cli.progress import StopRequests, TrainingProgress, duration, interrupted
from akgnn.cli.terminal import complain
from akgnn.cli.watch import Watch
from akgnn.errors import InterruptedRunError
from akgnn.runs.outcomes import Front
from akgnn.training.callbacks import Callback

if TYPE_CHECKING:
    from akgnn.data.node_data import NodeData
    from akgnn.runs.jobs import Job
    from akgnn.runs.plan import RunPlan
    from akgnn.runs.request import Request


class Terminal(Front):
    """Shows progress on standard error.

    Args:
        request: What is asked for.
        watch: Whether to draw the training.
    """

    def __init__(self, request: "Request", *, watch: bool = False) -> None:
        self.request, self.watch = request, watch

    def remark(self, text: str | Warning) -> None:
        """Show a line about the data or the settings."""
        # Not above: `main` imports the commands.
        from akgnn.cli.main import flags_of_commands

        complain(in_flags(str(text), flags_of_commands(), "train"))

    @contextmanager
    def choosing(
        self, plans: Sequence["RunPlan"], data: "NodeData", seeds: int, *, may_vote: bool
    ) -> Iterator[Sequence[Callback]]:
        """Show how validation compares presets."""
        from akgnn.runs.choice import expected_seconds

        models, presets = [plan.run.model for plan in plans], [plan.run.preset for plan in plans]
        # Several presets of one model, or several models.
        by_model = len(set(models)) == len(plans)
        names = [
            model if by_model or models.count(model) == 1 else preset
            for model, preset in zip(models, presets, strict=True)
        ]
        seconds = duration(expected_seconds(plans, data, seeds))
        option = "--model" if by_model else "--preset"
        words = f"Validation chooses among {', '.join(names)}"
        words = f"{words} or lets them vote" if may_vote else words
        words = f"{words}, {seeds} seeds of each" if seeds > 1 else words
        complain(f"{words}, in about {seconds}; {option} names one directly.")
        trained = [name for name in names for _ in range(seeds)]
        shown = TrainingProgress(len(trained), plans[0].preset.training, names=trained)
        with StopRequests() as stops, shown as progress:
            try:
                yield [progress, stops]
            except InterruptedRunError as error:
                raise InterruptedRunError(
                    f"{error} No model was chosen yet, and nothing was kept."
                ) from error

    @contextmanager
    def training(self, jobs: Sequence["Job"]) -> Iterator[Sequence[Callback]]:
        """Show how jobs train."""
        number = sum(len(job.members) or 1 for job in jobs)
        with StopRequests() as stops, progress_of(jobs[0].plan, number, self.watch) as progress:
            try:
                yield [progress, stops]
            except InterruptedRunError as error:
                out = None if self.request.out is None else Path(self.request.out)
                how = f"Go on with: {line_to_go_on(self.request)}"
                raise interrupted(error, out, how) from error


def progress_of(plan: "RunPlan", num_models: int, watch: bool) -> TrainingProgress:
    """What shows how far the training is."""
    if not watch:
        return TrainingProgress(num_models, plan.preset.training)
    shown = Watch(num_models, plan.preset.training, plan.preset.model)
    if not shown.is_drawn:
        complain("--watch draws in a terminal; here a line now and then says how far it is.")
    return shown


def line_to_go_on(request: "Request") -> str:
    """The command that goes on with what a request has kept."""
    several = f" --seed {request.seed}" if request.seed else ""
    several += f" --seeds {request.seeds}"
    several = several if request.seeds else ""
    several = f" --folds {request.folds}" if request.folds else several
    root = request.data_root
    where = "" if root is None else f" --data-root {quote(str(root))}"
    return f"akgnn train --out {quote(str(request.out))}{several}{where} --resume"
