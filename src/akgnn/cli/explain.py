"""`akgnn explain`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from akgnn.cli import options
from akgnn.cli.show import print_json, print_table
from akgnn.report.values import signed

if TYPE_CHECKING:
    from akgnn.explain.explanation import Answer, Explanation, Neighbour
    from akgnn.explain.nodes import NodeFacts


def explain(
    run: options.RunFolderArgument,
    node: Annotated[
        str, typer.Argument(help="The node: its id or, of data without ids, its row from 0 on.")
    ],
    top: Annotated[
        int, typer.Option(min=1, help="How many neighbours and further nodes to show.")
    ] = 10,
    data_root: options.DataRoot = None,
    device: options.Device = "auto",
    as_json: options.AsJson = False,
) -> None:
    """Show which neighbours decided the class of one node.

    Example: akgnn explain run 1700
    """
    from akgnn.explain.explanation import explain_node
    from akgnn.explain.nodes import find_node
    from akgnn.machine.device import choose_device
    from akgnn.runs.run import load_run
    from akgnn.training.calibration import Calibrated

    place = choose_device(device)
    loaded = load_run(run)
    data = loaded.data(data_root)
    model = Calibrated(loaded.model, loaded.result.calibration).to(place).eval()
    found = explain_node(model, data.to(place), find_node(node, data), top=top)
    if as_json:
        content = found.to_dict()
        print_json({**content, "neighbours": content["neighbours"][:top]})
        return
    _print_class(found)
    _print_neighbours(found, found.neighbours[:top])
    _print_reach(found)


def _print_class(found: "Explanation") -> None:
    facts, predicted, runner_up = found.facts, found.predicted, found.runner_up
    used = "" if facts.role == "none" else f" ({facts.role})"
    print(f"Node {facts.name}{used}: {_percent(predicted)}; next {_percent(runner_up)}.")
    if facts.label is None:
        print("Its label is not known.")
    else:
        verdict = "as predicted" if facts.label == facts.predicted else "which the model doubts"
        print(f"Its label is {facts.label}, {verdict}.")
    if found.num_neighbours:
        print(f"Without its edges: {_percent(found.alone)}.")


def _percent(answer: "Answer") -> str:
    return f"{answer.name}, {100 * answer.probability:.1f} %"


def _print_neighbours(found: "Explanation", shown: Sequence["Neighbour"]) -> None:
    if not found.num_neighbours:
        print("It has no neighbours: its own features decide.")
        return
    print(f"\nWhat each neighbour adds to the log-odds of {found.predicted.name}:")
    rows = [
        [n.facts.name, *_class_of(n.facts), signed(n.effect, 2), _says(n, found)] for n in shown
    ]
    print_table(["neighbour", "class", "known from", "effect", ""], rows, "lllrl")
    hidden, unseen = len(found.neighbours) - len(shown), found.num_neighbours
    if hidden:
        print(f"{hidden} more with smaller effects; --top shows them.")
    if unseen > len(found.neighbours):
        print(
            f"Of {unseen} neighbours, the {len(found.neighbours)} whose features count most were "
            "looked at."
        )


def _class_of(facts: "NodeFacts") -> tuple[str, str]:
    """The class of a node as the model may know it, and how it does."""
    if facts.role == "training" and facts.label is not None:
        return facts.label, "training label"
    return facts.predicted, "prediction"


def _says(neighbour: "Neighbour", found: "Explanation") -> str:
    changes = neighbour.without != found.predicted.name
    return neighbour.says + (f"; without it: {neighbour.without}" if changes else "")


def _print_reach(found: "Explanation") -> None:
    print("\nWhat the features of all nodes at a distance add, to the first order:")
    columns = ["edges away", *map(str, range(len(found.by_distance)))]
    print_table(columns, [["features add", *(signed(value, 2) for value in found.by_distance)]])
    if found.far:
        print("\nNodes behind the neighbours that add most:")
        rows = [
            [n.facts.name, str(n.distance), *_class_of(n.facts), signed(n.effect, 3)]
            for n in found.far
        ]
        print_table(["node", "edges away", "class", "known from", "features add"], rows, "lrllr")
    print(f"\n{_EXPLAINED}")


_EXPLAINED = (
    "The effect of a neighbour is exact: the log-odds now, less those without the edge.\n"
    "0.69 doubles the odds. To the first order: gradient times features, by one backward pass."
)
