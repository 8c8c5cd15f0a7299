"""Many seeds at once: `fit` for several models that differ in their weights alone."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.errors import DivergedError, SettingsError
from akgnn.models.replicas import can_stack
from akgnn.ops.dropout import Noise
from akgnn.training.history import History
from akgnn.training.loop import check_stopping, fit
from akgnn.training.progress import Progress, Snapshot
from akgnn.training.settings import TrainSettings
from akgnn.training.side_by_side import AfterEpoch, AfterRun, Outcome, Run, SideBySide, Trained
from akgnn.training.strategies.consistency import Consistency
from akgnn.training.strategies.supervised import Strategy, Supervised

# Strategies whose losses know replicas.
_STRATEGIES = (Supervised, Consistency)
# Numbers that all runs side by side hold, and how many runs that may be. On a processor more
# numbers leave the cache, and more runs gain nothing; on a GPU they have to fit into its memory.
_NUMBERS_ON_CPU, _MOST_ON_CPU = 2**25, 32
_SHARE_OF_GPU = 0.5
# Signals of the largest size that exist for a moment beside those that are kept.
_PASSING_SIGNALS = 4


def fit_many(
    models: Sequence[nn.Module],
    data: NodeData,
    settings: TrainSettings | None = None,
    *,
    seeds: Sequence[int],
    strategy: Strategy | None = None,
    resume: Sequence[Snapshot | None] | None = None,
    after_epoch: AfterEpoch | None = None,
    after_run: AfterRun = lambda number, outcome: None,
    at_once: int | None = None,
) -> list[Outcome]:
    """Train models of one kind side by side, each until its own validation stops improving.

    Model i ends as `fit(models[i], …, seed=seeds[i])` would leave it, up to rounding: it has its
    own masks, early stopping, best weights and starts. A run that ends makes room for one that
    waits. Models or strategies that cannot be stacked are trained one after the other.

    Args:
        models: Alike but for their weights; the best weights are left in them.
        data: On the device of the models.
        settings: The paper's if not given.
        seeds: Of the dropout masks, one for each model.
        strategy: How the losses come about; plain cross-entropy if not given.
        resume: For each model where an earlier call left off, or None.
        after_epoch: Called after each epoch with the runs that trained it. It may end the training
            of all by raising an error.
        after_run: Called as soon as a run has ended, with its place in `models` and its outcome.
        at_once: The most runs side by side; as many as memory and cache allow if not given.

    Returns:
        For each model its result, or the error where its loss stopped being a number.
    """
    settings, strategy = settings or TrainSettings(), strategy or Supervised()
    resume = resume or [None] * len(models)
    if not len(models) == len(seeds) == len(resume):
        raise SettingsError(
            f"Every model needs a seed: got {len(models)} models, {len(seeds)} seeds and "
            f"{len(resume)} states to go on with."
        )
    if at_once is not None and at_once < 1:
        raise SettingsError(f"at_once must be at least 1, got {at_once}.")
    check_stopping(settings, data)
    if not models:
        return []
    on_gpu = data.y.device.type == "cuda"
    if at_once is None:
        at_once = most_at_once(models[0], data, strategy) if len(models) > 1 else 1
    # On a GPU a single run is recorded and replayed too.
    if not trains_side_by_side(models[0], strategy) or (at_once == 1 and not on_gpu):
        alone = []
        for number, (model, seed, state) in enumerate(zip(models, seeds, resume, strict=True)):
            show = None if after_epoch is None else partial(_show_alone, after_epoch, number)
            options = {"seed": seed, "strategy": strategy, "resume": state, "after_epoch": show}
            alone.append(_fit_alone(model, data, settings, **options))
            after_run(number, alone[-1])
        return alone
    runs = [
        Run(number, seed, Progress(model, data.graph, settings, state))
        for number, (model, seed, state) in enumerate(zip(models, seeds, resume, strict=True))
    ]
    outcomes = SideBySide(runs, data, settings, strategy, at_once, after_run).train(after_epoch)
    return [outcomes[number] for number in range(len(models))]


def trains_side_by_side(model: nn.Module, strategy: Strategy) -> bool:
    """Whether runs of this model and strategy can share one stacked model."""
    return can_stack(type(model)) and takes_replicas(strategy)


def takes_replicas(strategy: Strategy) -> bool:
    """Whether the strategy gives each replica of a stacked model its own loss."""
    return isinstance(strategy, _STRATEGIES)


def most_at_once(model: nn.Module, data: NodeData, strategy: Strategy) -> int:
    """How many runs go side by side on the device of the data; 1 where they cannot."""
    if not trains_side_by_side(model, strategy):
        return 1
    numbers = _numbers_in_flight(model, data, strategy)
    if data.y.device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(data.y.device)
        return max(1, int(free * _SHARE_OF_GPU) // (4 * numbers))
    return max(1, min(_MOST_ON_CPU, _NUMBERS_ON_CPU // numbers))


def _numbers_in_flight(model: nn.Module, data: NodeData, strategy: Strategy) -> int:
    """What one run holds.

    All that is kept for the backward pass, what passes by, and five times its weights: themselves,
    their gradients, Adam's two means and the best so far.
    """
    held: dict[int, int] = {}
    largest = 0
    shared = data.x.data_ptr() if isinstance(data.x, Tensor) else 0

    def count(tensor: Tensor) -> Tensor:
        held[tensor.data_ptr()] = tensor.numel()
        return tensor

    def look(module: nn.Module, inputs: object, output: object) -> None:
        nonlocal largest
        largest = max(largest, output.numel() if isinstance(output, Tensor) else 0)

    # A copy: a normalisation would remember the pass.
    trained = deepcopy(model).train()
    for module in trained.modules():
        module.register_forward_hook(look)
    with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
        # Bound to a name, so that no memory is used twice before the count is over.
        loss = next(strategy.losses(trained, data, Noise(0)))
    held.pop(shared, None)
    del loss
    weights = sum(parameter.numel() for parameter in model.parameters())
    return sum(held.values()) + _PASSING_SIGNALS * largest + 5 * weights


def _show_alone(
    after_epoch: AfterEpoch, number: int, history: History, snapshot: Callable[[], Snapshot]
) -> None:
    after_epoch([Trained(number, history, snapshot)])


def _fit_alone(*arguments: Any, **options: Any) -> Outcome:
    try:
        return fit(*arguments, **options)
    except DivergedError as error:
        return error
