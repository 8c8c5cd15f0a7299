"""`akgnn explain`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from akgnn.cli import options
from akgnn.cli.bars import HEADING, bar
from akgnn.cli.show import print_json, print_table
from akgnn.cli.terminal import say
from akgnn.text import count, signed

if TYPE_CHECKING:
    from akgnn.explain.explanation import Explanation, Neighbour
    from akgnn.explain.nodes import NodeFacts


def explain(
    run: options.RunFolderArgument,
    nodes: Annotated[
        list[str],
        typer.Argument(
            metavar="NODE...",
            help="The node, or several: ids or, of data without ids, rows from 0 on.",
        ),
    ],
    top: Annotated[
        int, typer.Option(min=1, help="How many neighbours and further nodes to show.")
    ] = 10,
    out: Annotated[
        Path | None,
        typer.Option(help="Draw it into a file that ends in .svg, .png or .html."),
    ] = None,
    data_root: options.DataRoot = None,
    device: options.Device = "auto",
    as_json: options.AsJson = False,
) -> None:
    """Show which neighbours decided the class of a node.

    Example: akgnn explain run 1700 --out why.svg
    """
    from akgnn.explain.explanation import explain_node
    from akgnn.explain.nodes import find_node
    from akgnn.machine.device import choose_device
    from akgnn.runs.load import load_run
    from akgnn.training.calibration import Calibrated

    if out is not None:
        from akgnn.report.explanation_file import check_explanation_file

        check_explanation_file(out)
    place = choose_device(device)
    loaded = load_run(run)
    data = loaded.data(data_root)
    # A node that is named twice is explained once.
    rows = dict.fromkeys(find_node(node, data) for node in nodes)
    model = Calibrated(loaded.model, loaded.result.calibration).to(place).eval()
    data = data.to(place)
    found = [explain_node(model, data, row, top=top) for row in rows]
    if out is not None:
        from akgnn.report.explanation_file import write_explanations

        write_explanations(found, loaded, out, top=top)
    if as_json:
        _print_json(found, top, out)
    elif out is not None:
        names = ", ".join(each.facts.name for each in found[:3])
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        say(f"{'Node' if len(found) == 1 else 'Nodes'} {names}{more}: {out}")
    else:
        for number, each in enumerate(found):
            if number:
                say()
            _print(each, top)
        _print_method()


def _print_json(found: Sequence["Explanation"], top: int, out: Path | None) -> None:
    contents = [each.to_dict() for each in found]
    shown = [{**each, "neighbours": each["neighbours"][:top]} for each in contents]
    written = {} if out is None else {"out": str(out)}
    print_json({**written, **(shown[0] if len(shown) == 1 else {"nodes": shown})})


def _print(found: "Explanation", top: int) -> None:
    from akgnn.explain.sentences import class_sentences

    for sentence in class_sentences(found):
        say(sentence)
    if found.num_neighbours:
        _print_neighbours(found, found.neighbours[:top])
    _print_reach(found, top)


def _print_neighbours(found: "Explanation", shown: Sequence["Neighbour"]) -> None:
    from akgnn.explain.sentences import (
        FULL,
        called,
        changed_class,
        edge_words,
        not_looked_at,
        together,
    )

    say()

    say(f"What each neighbour adds to the log-odds of {called(found.predicted.name)}:")
    largest = max([FULL, *(abs(each.effect) for each in shown)])
    rows = []
    for each in shown:
        other = changed_class(each, found)
        text = f"{_class(each.facts)}{edge_words(each)}" + (
            f"; without it: {called(other)}" if other else ""
        )
        rows.append([each.facts.name, *_cells(each.effect, largest), text])
    print_table(["neighbour", "effect", HEADING, "class"], rows, "lrll")
    hidden = found.neighbours[len(shown) :]
    if hidden:
        others = count(len(hidden), "other")
        say(f"and {others} with smaller effects: together {together(hidden)}; --top shows them.")
    if sentence := not_looked_at(found):
        say(sentence)


def _cells(effect: float, largest: float, digits: int = 2) -> tuple[str, str]:
    """An effect as a number and as a bar."""
    return signed(effect, digits).replace("±", ""), bar(effect, largest)


def _class(facts: "NodeFacts") -> str:
    from akgnn.explain.sentences import called, class_of

    name, known = class_of(facts)
    return f"{called(name)} ({known})"


def _print_reach(found: "Explanation", top: int) -> None:
    from akgnn.explain.sentences import FULL, FULL_FAR, distances, far_shown

    say()

    say("What the features of all nodes at a distance add, to the first order:")
    near = distances(found)
    largest = max([FULL, *(abs(value) for _, value in near)])
    rows = [[name, *_cells(value, largest)] for name, value in near]
    print_table(["distance", "add", HEADING], rows, "lrl")
    if far := far_shown(found, top):
        say()
        say("Nodes behind the neighbours that add most:")
        largest = max([FULL_FAR, *(abs(each.effect) for each in far)])
        rows = [
            [
                each.facts.name,
                str(each.distance),
                *_cells(each.effect, largest, 3),
                _class(each.facts),
            ]
            for each in far
        ]
        print_table(["node", "edges away", "add", HEADING, "class"], rows, "lrrll")


def _print_method() -> None:
    from akgnn.explain.sentences import EXPLAINED

    say()
    for sentence in EXPLAINED:
        say(sentence)
