"""What `akgnn train` says of the kernels: their scalars, shares of neighbours, and start."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from akgnn.cli.output import numbers

if TYPE_CHECKING:
    from akgnn.training.run import RunResult

# More lines than this would hide the rest; `akgnn inspect` has them.
_MOST_LINES = 4


def no_edges(result: "RunResult") -> str:
    """A sentence where a model with adaptive kernels has no edges to use them on; else empty."""
    from akgnn.report.words import NO_EDGES
    from akgnn.training.kernel_places import places_of

    has_none = result.data["num_edges"] == 0 and places_of(result.plan)
    return NO_EDGES if has_none else ""


def kernel_lines(result: "RunResult") -> list[tuple[str, str]]:
    """Names and values for one run: its start, λ or τ, and where there is no λ the shares."""
    from akgnn.training.kernel_places import scalars_of, symbol_of

    fit, plan = result.fit, result.plan
    lines = [
        ("start", f"{start}; best of {len(fit.starts)} by validation") for start in _kept(result)
    ]
    scalars = scalars_of(plan, fit.lambda_max, fit.neighbour_share)
    lines += _by_strand(result, symbol_of(plan) or "λ", scalars)
    if not fit.lambda_max and result.data["num_edges"]:
        lines += _by_strand(result, "neighbours", fit.neighbour_share)
    return lines


def kernel_columns(results: Sequence["RunResult"]) -> dict[str, list[str]]:
    """Headings and cells for the table of several runs; none for models without kernels."""
    from akgnn.training.kernel_places import places_of, scalars_of, symbol_of

    columns: dict[str, list[str]] = {}
    starts = [_kept(result) for result in results]
    if all(starts):
        columns["start"] = [start[0] for start in starts]
    scalars = [scalars_of(r.plan, r.fit.lambda_max, r.fit.neighbour_share) for r in results]
    # With several scalars a layer a line would be too long.
    is_short = len({place.strand for place in places_of(results[0].plan)}) <= 1
    if all(scalars) and is_short:
        symbol = symbol_of(results[0].plan) or "λ"
        columns[f"{symbol} per layer"] = [numbers(values) for values in scalars]
    return columns


def _kept(result: "RunResult") -> list[str]:
    return [start.start for start in result.fit.starts if start.is_chosen]


def _by_strand(result: "RunResult", name: str, values: Sequence[float]) -> list[tuple[str, str]]:
    """One line through the layers for each way and group, or one line for all."""
    from akgnn.training.kernel_places import by_strand, places_of

    places = places_of(result.plan)
    if not values or len(places) != len(values):
        return [(f"{name} per layer", numbers(values))] if values else []
    strands = by_strand(places, values)
    if len(strands) > _MOST_LINES:
        return [(name, f"{min(values):.2f} to {max(values):.2f}, {len(strands)} a layer")]
    if len(strands) == 1:
        only = name if name == "neighbours" else f"{name} per layer"
        return [(only, numbers(values))]
    return [
        (", ".join(filter(None, (name, way, f"group {group}" if group else ""))), numbers(row))
        for (way, group), row in strands.items()
    ]
