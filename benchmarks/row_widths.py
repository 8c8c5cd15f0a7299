"""What a product costs on a GPU, by the bytes of a row and the number of nodes.

    python benchmarks/row_widths.py [--nodes 16e6 64e6 128e6] [--degree 20] [--repeats 5]

A chain of five layers, forward, on `large` graphs; nanoseconds an edge and layer, the median of
some repetitions. Rows that are too wide for the memory are left out. The figures of
`akgnn.distributed.hardware.H200` come from it.
"""

import argparse
import statistics
import time

import torch

from akgnn.cli.show import print_json
from akgnn.data.generated import LargeGraphSettings, large_graph
from akgnn.machine.provenance import run_versions
from akgnn.ops.adaptive_chain import adaptive_chain

_LAYERS = 5
# At a time: what enters, what a layer is given and makes, the readout.
_SIGNALS = 5
# Channels and type, for rows of 16 to 256 bytes.
_ROWS = {
    16: (8, torch.bfloat16),
    32: (16, torch.bfloat16),
    64: (32, torch.bfloat16),
    128: (64, torch.bfloat16),
    256: (64, torch.float32),
}


def main() -> None:
    """Measure every size and width, and print one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=float, nargs="+", default=[16e6, 64e6, 128e6])
    parser.add_argument("--degree", type=float, default=20.0)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    found = []
    for nodes in asked.nodes:
        settings = LargeGraphSettings(num_nodes=int(nodes), degree=asked.degree, num_features=2)
        graph = large_graph(settings, device="cuda", dtype=torch.bfloat16).graph
        for row, (channels, dtype) in _ROWS.items():
            if _SIGNALS * graph.num_nodes * row > torch.cuda.mem_get_info()[0]:
                continue
            h = torch.randn(graph.num_nodes, channels, device="cuda", dtype=dtype)
            seconds = []
            for _ in range(asked.repeats + 1):
                torch.cuda.synchronize()
                started = time.perf_counter()
                with torch.no_grad():
                    adaptive_chain(graph, h, [(1.0, 1.0)] * _LAYERS)
                torch.cuda.synchronize()
                seconds.append(time.perf_counter() - started)
            del h
            torch.cuda.empty_cache()
            # Operations compile in the first.
            each = 1e9 * statistics.median(seconds[1:]) / (graph.num_edges * _LAYERS)
            found.append(
                {
                    "nodes": graph.num_nodes,
                    "edges": graph.num_edges,
                    "row, bytes": row,
                    "ns an edge": round(each, 5),
                }
            )
        del graph
        torch.cuda.empty_cache()
    name = torch.cuda.get_device_name()
    print_json({"device": name, "repeats": asked.repeats, "rows": found, **run_versions()})


if __name__ == "__main__":
    main()
