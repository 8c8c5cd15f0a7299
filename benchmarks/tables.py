"""Reading a large graph from tables: seconds and peak memory, each case in a process of its own.

    python benchmarks/tables.py [--nodes 1000000] [--edges 10000000] [--folder DIR]

`csv` reads a fifth of the edges and nodes from CSV, `parquet` all of them from Parquet; both end in
NodeData with 16 numeric features. The files are written to the folder first, if they are not there.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from akgnn.cli.show import print_json
from akgnn.data.tables.load import read_tables
from akgnn.data.tables.settings import TableSettings

_FEATURES, _CLASSES = 16, 10
_CSV_SHARE = 5


def write(folder: Path, case: str, num_nodes: int, num_edges: int) -> TableSettings:
    """Draw a graph, and write its tables if they are not there yet."""
    part = _CSV_SHARE if case == "csv" else 1
    num_nodes, num_edges = num_nodes // part, num_edges // part
    files = [folder / f"{kind}-{num_nodes}-{num_edges}.{case}" for kind in ("nodes", "edges")]
    if not all(file.exists() for file in files):
        rng = np.random.default_rng(0)
        label = rng.integers(0, _CLASSES, num_nodes)
        columns = {f"x{k}": rng.standard_normal(num_nodes) for k in range(_FEATURES)}
        names = pa.array([f"class {k}" for k in range(_CLASSES)]).take(pa.array(label))
        nodes = pa.table({"id": np.arange(num_nodes), "label": names, **columns})
        ends = rng.integers(0, num_nodes, (2, num_edges))
        edges = pa.table({"source": ends[0], "target": ends[1]})
        save = pyarrow.csv.write_csv if case == "csv" else pyarrow.parquet.write_table
        for file, table in zip(files, (nodes, edges), strict=True):
            save(table, file)
    return TableSettings(nodes=str(files[0]), edges=str(files[1]), standardise=True)


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
        }
    )


def main() -> None:
    """Measure each case in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--case", choices=["csv", "parquet"])
    options = parser.parse_args()
    if options.case:
        measure(write(options.folder, options.case, options.nodes, options.edges))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = str(options.folder or temporary)
        sizes = ["--nodes", str(options.nodes), "--edges", str(options.edges), "--folder", folder]
        for case in ("csv", "parquet"):
            write(Path(folder), case, options.nodes, options.edges)
            subprocess.run([sys.executable, __file__, *sizes, "--case", case], check=True)


if __name__ == "__main__":
    main()
