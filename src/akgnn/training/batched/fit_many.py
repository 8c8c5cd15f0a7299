"""Many seeds at once: `fit` for several models that differ in their weights alone."""

from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn

from akgnn.data.node_data import NodeData
from akgnn.errors import DivergedError, SettingsError
from akgnn.models.replicas import can_stack
from akgnn.ops.dropout import Noise
from akgnn.training.arguments import check_arguments, outputs_checked
from akgnn.training.batched.stacked import Outcome, StackedRun, StackedTrainer
from akgnn.training.callbacks import Callback
from akgnn.training.fit import SingleTrainer, check_labels, check_stopping, train
from akgnn.training.settings import TrainSettings
from akgnn.training.state import Snapshot, TrainingState
from akgnn.training.strategies.supervised import Strategy, Supervised

# Numbers that all runs side by side hold, and how many runs that may be. On a CPU more numbers
# leave the cache, and more runs gain nothing; on a GPU they have to fit into its memory.
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
    callbacks: Sequence[Callback] = (),
    indices: Sequence[int] | None = None,
    at_once: int | None = None,
) -> list[Outcome]:
    """Train models of one kind side by side, each until its own validation stops improving.

    Model i ends as `fit(models[i], …, seed=seeds[i])` would leave it, up to rounding: it has its
    own masks, early stopping, best weights and restarts. A run that ends makes room for one that
    waits. Models or strategies that cannot be stacked are trained one after the other.

    Args:
        models: Alike but for their weights; the best weights are left in them.
        data: On the device of the models.
        settings: The paper's if not given.
        seeds: Seeds of the dropout masks, one for each model.
        strategy: How the losses come about; plain cross-entropy if not given.
        resume: For each model where an earlier call left off, or None.
        callbacks: Told of every epoch; they may end the training of all.
        indices: The numbers by which callbacks know the models; 0, 1, … if not given.
        at_once: The most runs side by side; as many as memory and cache allow if not given.

    Returns:
        For each model its result, or the error where its loss stopped being a number.

    Raises:
        SettingsError: An argument is not of its kind.
        DataError: The data are not, or the models do not fit them.
        InterruptedRunError: A callback wanted to stop.
    """
    settings = TrainSettings() if settings is None else settings
    strategy = Supervised() if strategy is None else strategy
    number = len(models) if hasattr(models, "__len__") else 1
    resume, indices = resume or [None] * number, indices or range(number)
    check_arguments(
        models,
        data,
        settings,
        seeds=seeds,
        strategy=strategy,
        resume=resume,
        callbacks=callbacks,
    )
    if not len(models) == len(seeds) == len(resume) == len(indices):
        raise SettingsError(
            f"Every model needs a seed: got {len(models)} models, {len(seeds)} seeds and "
            f"{len(resume)} states to resume."
        )
    if at_once is not None and at_once < 1:
        raise SettingsError(f"at_once must be at least 1, got {at_once}.")
    check_stopping(settings, data)
    check_labels(strategy, data)
    if not models:
        return []
    if at_once is None:
        with outputs_checked(models[0], data):
            at_once = runs_at_once(models[0], data, strategy) if len(models) > 1 else 1
    outcomes: dict[int, Outcome] = {}

    def end(index: int, outcome: Outcome) -> None:
        outcomes[index] = outcome
        for callback in callbacks:
            callback.after_run(index, outcome)

    # On a GPU a single run is recorded and replayed too.
    is_stacked = (at_once > 1 or data.y.is_cuda) and can_batch(type(models[0]), strategy)
    runs = [
        StackedRun(index, seed, TrainingState(model, data.graph, settings, state))
        for index, model, seed, state in zip(indices, models, seeds, resume, strict=True)
    ]
    if is_stacked:
        # The stacked model is a copy of the first, and so checks its outputs too.
        with outputs_checked(models[0], data):
            trainer = StackedTrainer(runs, data, strategy, at_once, end)
        train(trainer, callbacks)
    else:
        for run in runs:
            single = SingleTrainer(run.state, data, strategy, run.seed, run.index)
            try:
                with outputs_checked(run.state.model, data):
                    train(single, callbacks)
                    result = single.result()
                end(run.index, result)
            except DivergedError as error:
                end(run.index, error)
    return [outcomes[index] for index in indices]


def can_batch(kind: type[nn.Module], strategy: Strategy) -> bool:
    """Whether runs of this kind of model and strategy can share one stacked model."""
    return can_stack(kind) and getattr(strategy, "takes_replicas", False)


def runs_at_once(model: nn.Module, data: NodeData, strategy: Strategy) -> int:
    """How many runs train side by side on the device of the data; 1 where they cannot."""
    if not can_batch(type(model), strategy):
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
