"""What a run says of itself: a line, a card for notebooks, a flat object."""

from typing import TYPE_CHECKING, Any

from akgnn.data.tables.settings import LINKS
from akgnn.notebook import card
from akgnn.runs.vote import shares_by_name
from akgnn.training.metrics import interval_words

if TYPE_CHECKING:
    from akgnn.runs.run import Run


def line_of(run: "Run") -> str:
    """The run in a line."""
    result = run.result
    interval = interval_words(result.test_accuracy, result.num_test)
    accuracy = f"{result.test_accuracy:.1f} %{f' ({interval})' * bool(interval)}"
    return (
        f"Run({run.name} on {run.plan.data_name}, {run.plan.run.seeds}: "
        f"test accuracy {accuracy}, epoch {result.best_epoch} of "
        f"{result.epochs})"
    )


def card_of(run: "Run") -> str:
    """What `akgnn train` ends with, for notebooks; reads nothing but the record."""
    facts, result = run.facts, run.result
    sizes = f"{facts.num_nodes:,} nodes, {facts.num_edges:,} edges (each direction)"
    classes = f"{facts.num_features:,} features, {len(facts.class_names)} classes"
    rows = [
        ("data", f"{run.plan.data_name}: {sizes}, {classes}"),
        ("split", facts.split),
        *result.shown(),
    ]
    if run.votes:
        shares = shares_by_name(run.votes).items()
        rows.append(("votes", ", ".join(f"{name} {100 * w:.0f} %" for name, w in shares)))
    elif run.members:
        alone = f"{len(run.members)} members; alone {run.member_accuracy:.1f} % on average"
        rows.append(("ensemble", alone))
    if run.folder is not None:
        rows.append(("folder", str(run.folder.path)))
    return card(f"{run.name}, {run.plan.run.seeds}", rows, result.loss_curves())


def object_of(run: "Run") -> dict[str, Any]:
    """The result in one flat object, as `--json` prints it."""
    settings = run.plan.run
    return {
        "dataset": settings.dataset,
        "split": run.facts.split,
        "model": settings.model,
        "preset": settings.preset,
        "seed": settings.seed,
        **{name: text for name, text in run.facts.source.items() if name == LINKS},
        **run.result.to_dict(),
        **_members_of(run),
    }


def _members_of(run: "Run") -> dict[str, Any]:
    if run.votes:
        return {
            "votes": [
                {
                    "model": vote.plan.run.model,
                    "preset": vote.plan.run.preset,
                    "seed": vote.plan.run.seed,
                    "weight": vote.weight,
                    **member.to_dict(),
                }
                for vote, member in zip(run.votes, run.members, strict=True)
            ]
        }
    if not run.members:
        return {}
    seeded = enumerate(run.members, run.plan.run.seed)
    return {
        "ensemble": len(run.members),
        "member_accuracy": run.member_accuracy,
        "gain": run.result.test_accuracy - run.member_accuracy,
        "members": [{"seed": seed, **member.to_dict()} for seed, member in seeded],
    }
