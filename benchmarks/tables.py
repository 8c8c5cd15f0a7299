"""Reading a large graph from tables: seconds and peak memory, each case in a process of its own.

    python benchmarks/tables.py [--nodes 1000000] [--edges 10000000] [--folder DIR]

`csv` reads a fifth of the edges and nodes from CSV, `parquet` all of them from Parquet; both have
16 columns of numbers, standardised. `mixed` reads all from Parquet with 16 columns of every kind,
`text` a tenth of the nodes with texts of 50 words, both prepared by what they are. The files are
written to the folder first, if they are not there.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from akgnn.cli.show import print_json
from akgnn.data.tables.load import read_tables
from akgnn.data.tables.settings import TableSettings

_CLASSES = 10
# These are smaller by so much.
_SHARES = {"csv": 5, "text": 10}


def write(folder: Path, case: str, num_nodes: int, num_edges: int) -> TableSettings:
    """Draw a graph, and write its tables if they are not there yet."""
    part = _SHARES.get(case, 1)
    num_nodes, num_edges = num_nodes // part, num_edges // part
    names = [f"{case}-{kind}-{num_nodes}-{num_edges}" for kind in ("nodes", "edges")]
    files = [folder / f"{name}.{'csv' if case == 'csv' else 'parquet'}" for name in names]
    if not all(file.exists() for file in files):
        rng = np.random.default_rng(0)
        label = _choice(rng, [f"class {k}" for k in range(_CLASSES)], num_nodes)
        columns = _COLUMNS.get(case, _numbers)(rng, num_nodes)
        nodes = pa.table({"id": np.arange(num_nodes) * 3, "label": label, **columns})
        ends = rng.integers(0, num_nodes, (2, num_edges)) * 3
        edges = pa.table({"source": ends[0], "target": ends[1]})
        save = pyarrow.csv.write_csv if case == "csv" else pyarrow.parquet.write_table
        for file, table in zip(files, (nodes, edges), strict=True):
            save(table, file)
    is_standardised = case in ("csv", "parquet")
    return TableSettings(nodes=str(files[0]), edges=str(files[1]), standardise=is_standardised)


def _choice(rng: np.random.Generator, values: list[str], size: int) -> pa.Array:
    return pa.array(values).take(pa.array(rng.integers(0, len(values), size)))


def _numbers(rng: np.random.Generator, size: int) -> dict[str, Any]:
    return {f"x{k}": rng.standard_normal(size) for k in range(16)}


def _mixed(rng: np.random.Generator, size: int) -> dict[str, Any]:
    day = np.datetime64("2010-01-01")
    city = pa.array([f"city {k}" for k in range(5000)])
    return {
        **{f"size{k}": rng.lognormal(k, 1, size) for k in range(6)},
        "gaps": pa.array(rng.standard_normal(size), mask=rng.random(size) < 0.3),
        "year": rng.integers(1950, 2024, size),
        "flag": rng.random(size) < 0.3,
        "word": rng.integers(0, 2, size),
        "count": rng.poisson(0.4, size),
        "city": city.take(pa.array(np.minimum(rng.zipf(1.3, size), 5000) - 1)),
        "kind": _choice(rng, list("abcdef"), size),
        "code": _choice(rng, [f"K{k}" for k in range(300)], size),
        "day": (day + rng.integers(0, 4000, size)).astype("datetime64[D]"),
        "time": day + rng.integers(0, 10**8, size).astype("timedelta64[s]"),
    }


def _texts(rng: np.random.Generator, size: int) -> dict[str, Any]:
    words = np.array([f"w{k:05d}" for k in range(50_000)])
    rows = words[np.minimum(rng.zipf(1.3, (size, 50)), len(words)) - 1]
    return {"text": [" ".join(row) for row in rows]}


_COLUMNS = {"mixed": _mixed, "text": _texts}
_CASES = ("csv", "parquet", "mixed", "text")


def measure(settings: TableSettings) -> None:
    """Load the tables and print what it took."""
    started = time.perf_counter()
    data = read_tables(settings)
    print_json(
        {
            "seconds": time.perf_counter() - started,
            "peak MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "nodes": data.graph.num_nodes,
            "directed edges": data.graph.num_edges,
            "features": data.num_features,
        }
    )


def main() -> None:
    """Measure each case in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--case", choices=_CASES)
    options = parser.parse_args()
    if options.case:
        measure(write(options.folder, options.case, options.nodes, options.edges))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = str(options.folder or temporary)
        sizes = ["--nodes", str(options.nodes), "--edges", str(options.edges), "--folder", folder]
        for case in _CASES:
            write(Path(folder), case, options.nodes, options.edges)
            subprocess.run([sys.executable, __file__, *sizes, "--case", case], check=True)


if __name__ == "__main__":
    main()
