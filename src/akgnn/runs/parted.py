"""Runs on the parts of a graph: one process or several train one run, and keep it in one folder.

Every process calls `train_parts`. The first of each host keeps states in its folder, so that the
training goes on wherever the files of one host are left.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from akgnn.codec import from_json
from akgnn.distributed.channels import check_slices
from akgnn.distributed.division import spans_of
from akgnn.distributed.folder import FolderParts
from akgnn.distributed.group import Group
from akgnn.distributed.mesh import Mesh, MeshShape, shape_for
from akgnn.distributed.parts import PartsFacts
from akgnn.distributed.trainer import check_divisible, check_enough_parts, fit_parts, own_rows
from akgnn.errors import AkgnnError, DivergedError, SettingsError
from akgnn.files import json_text, parse_json
from akgnn.machine.device import (
    LARGE_SIGNAL,
    free_bytes,
    give_back_signals,
    keep_freed_memory,
)
from akgnn.machine.provenance import run_versions
from akgnn.models.registry import find_model
from akgnn.runs.facts import DataFacts
from akgnn.runs.folder import RunFolder
from akgnn.runs.keeping import KeptRun
from akgnn.runs.memory import memory_errors_explained
from akgnn.runs.plan import RunPlan
from akgnn.runs.run import Run
from akgnn.training.callbacks import Callback, Epoch
from akgnn.training.history import History
from akgnn.training.result import FitResult
from akgnn.training.state import Snapshot

# Those whose losses are sums over nodes that parts can be added up to.
_STRATEGIES = ("supervised", "consistency")
_FLOAT = 4
# How many times the memory that is needed is much.
_MUCH = 3
_LESS_MEMORY = "share the parts among more processes, or try `channels_at_once=16`"


def train_parts(
    plan: RunPlan,
    parts: FolderParts,
    folder: RunFolder | None,
    group: Group,
    device: torch.device,
    *,
    resume: bool = False,
    mesh: MeshShape | None = None,
    checkpoint_seconds: float = 5.0,
    timeout: float = 50.0,
    parts_at_once: int | None = None,
    callbacks: Sequence[Callback] = (),
    should_stop: Callable[[], bool] = lambda: False,
) -> Run:
    """Train one run on the parts of a graph, with all processes of the group.

    Args:
        plan: What to train; the same in every process.
        parts: The parts; every process reads its own.
        folder: Where this process keeps the run, if it is the one of its host that does.
        group: The processes.
        device: Where this process computes.
        resume: Go on with what the folders hold; the newest state that any process has is taken.
        mesh: How the processes share nodes and channels; nodes alone if None.
        checkpoint_seconds: How often the state is kept.
        timeout: After so many seconds a process that does not answer counts as gone.
        parts_at_once: How many parts a process has in memory at a time; all if None.
        callbacks: Told of every epoch.
        should_stop: Asked after every epoch; true in one process stops all.

    Raises:
        AkgnnError: Something is wrong in one process; all of them raise it, with its rank.
    """
    check_same_settings(plan, parts, group, mesh)
    shape = shape_for(group.size) if mesh is None else mesh
    check_plan(plan, parts, shape)
    processes = Mesh.of(group, shape)
    group.together(lambda: _check_parts(parts, processes.nodes))
    # Where one process goes on, all do: a host that came anew does not know that it did.
    resume = any(bool(each) for each in group.gather(torch.tensor([resume])))
    with memory_errors_explained(plan, device, unsized=_LESS_MEMORY), ExitStack() as locks:
        rows = own_rows(
            parts, processes.nodes, device, channels=processes.channels, at_once=parts_at_once
        )
        kept = KeptRun(
            plan,
            rows.data,
            folder,
            checkpoint_seconds,
            known=data_facts(parts.facts),
            mesh=str(shape) if shape.size > 1 else None,
        )
        group.together(lambda: kept.open(resume, locks))
        if _has_ended(kept, group):
            return _outcome(kept)
        state = _newest(kept, group)
        if state is not None:
            kept.snapshot = None
            kept.begin_at(state)
        meeting = Meeting(group, kept, timeout, should_stop)
        fit_parts(
            kept.model,
            rows,
            plan.preset.training,
            seed=plan.run.seed,
            strategy=plan.strategy(),
            resume=kept.snapshot,
            callbacks=[*callbacks, meeting],
        )
    return _outcome(kept)


def _outcome(kept: KeptRun) -> Run:
    if isinstance(kept.outcome, AkgnnError):
        raise kept.outcome
    assert kept.outcome is not None, "a training ends with an outcome"
    return kept.outcome


class Meeting(Callback):
    """Once an epoch all processes meet: one that is gone is named, they stop and keep together.

    Of slices of the channels each process has its own, so states are put together by all.
    """

    def __init__(
        self, group: Group, kept: KeptRun, seconds: float, should_stop: Callable[[], bool]
    ) -> None:
        self._group, self._kept, self._seconds = group, kept, seconds
        self._wants_stop, self._stops = should_stop, False

    def after_epoch(self, epochs: Sequence[Epoch]) -> None:
        """Wait for all, and keep the epoch, and the state if it is time for any of them."""
        self._group.call_roll(self._seconds)
        wishes = torch.tensor([self._wants_stop(), self._kept.is_due()])
        self._stops, is_due = torch.stack(self._group.gather(wishes)).any(0).tolist()
        for epoch in epochs:
            self._kept.keep_line(epoch)
            if is_due:
                self._keep_state(epoch)

    def should_stop(self) -> bool:
        """Whether any process was asked to stop."""
        return self._stops

    def before_stop(self, epochs: Sequence[Epoch]) -> None:
        """Keep the state."""
        for epoch in epochs:
            self._keep_state(epoch)

    def _keep_state(self, epoch: Epoch) -> None:
        # Asked of all processes, whether they have a folder or not.
        state = epoch.snapshot()
        self._kept.keep_state(replace(epoch, snapshot=lambda: state))

    def after_run(self, index: int, outcome: FitResult | DivergedError) -> None:
        """Keep the result."""
        self._kept.end(outcome)


def check_same_settings(
    plan: RunPlan, parts: FolderParts, group: Group, mesh: MeshShape | None = None
) -> None:
    """Refuse processes that were started with other settings, versions or parts.

    Raises:
        SettingsError: They differ; it says in what.
    """
    facts = {"mesh": str(mesh), "parts": parts.facts.content, **run_versions()}
    settings = {name: value for kind in plan.to_dict().values() for name, value in kind.items()}
    everyone = [
        parse_json(text) for text in group.gather_bytes(json_text({**settings, **facts}).encode())
    ]
    first = everyone[0]
    for rank, other in enumerate(everyone):
        for name in {**first, **other}:
            if first.get(name) != other.get(name):
                raise SettingsError(
                    f"Process {rank} was started with another {name} than process 0: "
                    f"{other.get(name)} and {first.get(name)}."
                )


def keep_or_give_back(plan: RunPlan, parts: FolderParts, mesh: MeshShape) -> None:
    """Let this process keep the memory that an epoch frees, unless its signals are large.

    To give them back costs a third more time, to keep them a quarter more memory. So one process
    with much memory keeps them. Several do not: they may share a machine, on which what the plan
    says of their memory is counted.
    """
    channels: int = getattr(plan.preset.model, "hidden_channels", 1)
    numbers = (parts.facts.num_nodes // mesh.nodes) * (channels // mesh.channels)
    if numbers * _FLOAT < LARGE_SIGNAL or (mesh.size == 1 and _has_room(plan, parts)):
        keep_freed_memory()
    else:
        give_back_signals()


def _has_room(plan: RunPlan, parts: FolderParts) -> bool:
    """Whether one process has far more memory than it needs."""
    settings, free = plan.preset.model, free_bytes(torch.device("cpu"))
    needed = parts.costs.shares[0].memory(
        num_layers=getattr(settings, "num_layers", 1),
        channels=getattr(settings, "hidden_channels", 1),
    )
    return free is not None and free > _MUCH * needed.total


def data_facts(facts: PartsFacts) -> DataFacts:
    """What the record of a run says of data in parts."""
    return DataFacts(
        facts.name,
        facts.num_nodes,
        facts.num_edges,
        facts.num_features,
        facts.class_names,
        f"{facts.split_name}:{facts.split_fingerprint}",
        facts.source,
        facts.recipe,
    )


def check_plan(plan: RunPlan, parts: FolderParts, mesh: MeshShape) -> None:
    """Refuse what cannot be trained on these parts by a mesh of this shape.

    Raises:
        SettingsError: It cannot.
    """
    model = find_model(plan.run.model).model_for(plan.preset.model)
    check_divisible(model)
    check_slices(model, plan.preset.model, mesh.channels)
    check_enough_parts(parts, mesh.nodes)
    if plan.preset.strategy.takes_labels:
        raise SettingsError(
            "Labels among the inputs are not to be had of parts; choose another preset."
        )
    if plan.preset.strategy.name not in _STRATEGIES:
        raise SettingsError(
            f"The strategy {plan.preset.strategy.name} is not to be had of parts; "
            f"{' and '.join(_STRATEGIES)} are."
        )


def _check_parts(parts: FolderParts, nodes: Group) -> None:
    """Look at the parts of this process, of those that share the nodes."""
    for index in range(*spans_of(parts.num_parts, nodes.size)[nodes.rank]):
        parts.check(index)


def _has_ended(kept: KeptRun, group: Group) -> bool:
    """Whether the run has ended in the folder of any process; then it ends here alike.

    One that is killed at the very end may leave one host with the result, another without.
    """
    outcome, payload = kept.outcome, b""
    if isinstance(outcome, Run):
        about = {"result": outcome.result.to_dict(), "history": outcome.result.history.to_dict()}
        payload = _with_tensors(about, outcome.model.state_dict())
    elif outcome is not None:
        payload = _with_tensors({"error": str(outcome)}, {})
    ended = next((each for each in group.gather_bytes(payload) if each), None)
    if ended is None:
        return False
    if kept.outcome is None:
        about, tensors = _without_tensors(ended)
        if "error" in about:
            kept.end(DivergedError(about["error"]))
        else:
            history = from_json(History, about["history"], "history")
            if kept.lines is not None:
                kept.lines.update(history)
            kept.model.load_state_dict(tensors)
            kept.end(FitResult.from_dict(about["result"], history))
    return True


def _newest(kept: KeptRun, group: Group) -> Snapshot | None:
    """The state to go on from: that of the most epochs that any process found in its folder."""
    own = kept.snapshot
    epochs = 0 if own is None else len(own.history)
    everyone = [int(each) for each in group.gather(torch.tensor([epochs]))]
    newest = max(range(group.size), key=lambda rank: (everyone[rank], -rank))
    if everyone[newest] == 0:
        return None
    payload = b""
    if group.rank == newest and own is not None:
        payload = _packed(own)
    return _unpacked(group.gather_bytes(payload)[newest])


def _packed(snapshot: Snapshot) -> bytes:
    parts = {
        "model": snapshot.weights,
        "best": snapshot.best_weights,
        "optimizer": snapshot.optimizer,
    }
    tensors = {f"{part}/{name}": t for part, all_ in parts.items() for name, t in all_.items()}
    about = {"history": snapshot.history.to_dict(), "seconds": snapshot.seconds}
    return _with_tensors(about, tensors)


def _unpacked(payload: bytes) -> Snapshot:
    about, tensors = _without_tensors(payload)
    parts: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimizer": {}}
    for key, tensor in tensors.items():
        part, _, name = key.partition("/")
        parts[part][name] = tensor
    history = from_json(History, about["history"], "history")
    return Snapshot(parts["model"], parts["best"], parts["optimizer"], history, about["seconds"])


def _with_tensors(about: dict[str, Any], tensors: Mapping[str, Tensor]) -> bytes:
    """What a process sends to the others: JSON, its length before it, and safetensors."""
    text = json_text(about).encode()
    blob = save_tensors({name: t.detach().cpu().contiguous() for name, t in tensors.items()})
    return len(text).to_bytes(8, "little") + text + blob


def _without_tensors(payload: bytes) -> tuple[dict[str, Any], dict[str, Tensor]]:
    end = 8 + int.from_bytes(payload[:8], "little")
    return parse_json(payload[8:end]), load_tensors(payload[end:])
