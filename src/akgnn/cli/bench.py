"""`akgnn bench`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from akgnn.cli.options import check_range
from akgnn.cli.progress import cases_progress
from akgnn.cli.show import print_json, print_table
from akgnn.cli.terminal import complain, say
from akgnn.errors import FailedRunsError, SettingsError, UnknownNameError

if TYPE_CHECKING:
    from akgnn.bench.record import Case

# Few samples have no median to speak of.
_FEWEST, _MOST = 5, 1000
_MOST_EDGES, _MOST_CHANNELS = 2 * 10**9, 10_000


def bench(
    what: str = typer.Argument("all", help="layer, epoch, growth, or all of them."),
    edges: str | None = typer.Option(
        None, help="Sizes of the graphs, such as 1e4,1e6.  [layer: 2e6; growth: 1e4 to 1e8]"
    ),
    mean_degree: int | None = typer.Option(
        None, help="Edges a node, an even number.  [layer: 10; growth: 20]"
    ),
    degrees: str | None = typer.Option(
        None, help="even, power-law or both.  [layer: even,power-law; growth: even]"
    ),
    channels: int | None = typer.Option(None, help="Width of the signals.  [64]"),
    dtype: str | None = typer.Option(None, help="Such as float32,bfloat16.  [float32]"),
    device: str = typer.Option("auto", help="auto, cpu, cuda or cuda:1."),
    repetitions: int = typer.Option(7, help=f"Samples of every task, at least {_FEWEST}."),
    out: Path = typer.Option(Path("results/bench"), help="Folder of the record."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Measure speed and memory side by side with PyTorch's sparse matrices and PyG.

    Every case is written down when it is done; what does not fit says so, and the rest goes on.

    Example: akgnn bench layer --edges 1e5,1e6 --degrees power-law
    """
    check_range("--repetitions", repetitions, _FEWEST, _MOST)
    options = {
        "--edges": edges,
        "--mean-degree": mean_degree,
        "--degrees": degrees,
        "--channels": channels,
        "--dtype": dtype,
    }
    given = [name for name, value in options.items() if value is not None]
    if what == "epoch" and given:
        raise SettingsError(f"{given[0]} goes with layer and growth; an epoch has its data sets.")
    check_range("--channels", channels, 1, _MOST_CHANNELS)
    from akgnn.bench.graphs import GRAPHS
    from akgnn.bench.peers import has_pyg
    from akgnn.bench.record import write_record
    from akgnn.bench.run import DTYPES, SUITES, Run, Sizes, plans_of
    from akgnn.bench.tables import growth_tables
    from akgnn.files import make_folder
    from akgnn.machine.device import choose_device

    if what not in (*SUITES, "all"):
        raise UnknownNameError("benchmark", what, (*SUITES, "all"))
    sizes = Sizes(
        edges=None if edges is None else _whole_numbers(edges),
        mean_degree=mean_degree,
        degrees=None if degrees is None else _names("degrees", degrees, tuple(GRAPHS)),
        channels=channels or 64,
        dtypes=("float32",) if dtype is None else _names("dtype", dtype, DTYPES),
    )
    plans = plans_of(SUITES if what == "all" else (what,), sizes)
    place = choose_device(device)
    run = Run(repetitions, place)
    if not has_pyg():
        complain("PyG is left out; pip install 'akgnn[pyg]' adds it.")
    make_folder(out)
    with cases_progress(len(plans)) as show:
        for number, plan in enumerate(plans):
            show(number, plan.title)
            case = run.measure(plan)
            file = write_record(run.record, out)
            if not as_json:
                _print_case(case)
    record = run.record
    if as_json:
        print_json({"file": str(file), **record.to_dict()})
    if not any(case.is_measured for case in record.cases):
        raise FailedRunsError(f"Nothing could be measured; {file} has the reasons.")
    if not as_json:
        for unit, (head, *rows) in growth_tables(record).items():
            say(f"growth, {unit}, forward + backward", "bold")
            print_table(head, rows)
            say()
        say(f"Medians of {repetitions} on {record.device}; all times are kept in {file}.")


def _print_case(case: "Case") -> None:
    from akgnn.bench.tables import case_table, failures_of, title_of

    if case.timed:
        bandwidth = f"; copy {case.bandwidth / 1e9:.1f} GB/s" if case.bandwidth else ""
        say(f"{case.suite}, {title_of(case)}{bandwidth}", "bold")
        head, *rows = case_table(case)
        print_table(head, rows)
    for line in failures_of(case):
        say(f"  {line}")
    print(flush=True)


def _whole_numbers(value: str) -> list[int]:
    sizes = []
    for part in value.split(","):
        try:
            size = float(part)
        except ValueError:
            size = float("nan")
        if not (1 <= size <= _MOST_EDGES and size == int(size)):
            raise SettingsError(
                f"--edges must be integers from 1 to {_MOST_EDGES:,}, such as 1e4,1e6; "
                f"got {part!r}."
            )
        sizes.append(int(size))
    return list(dict.fromkeys(sizes))


def _names(option: str, value: str, choices: Sequence[str]) -> list[str]:
    names = list(dict.fromkeys(part.strip() for part in value.split(",")))
    for name in names:
        if name not in choices:
            raise UnknownNameError(option, name, choices)
    return names
