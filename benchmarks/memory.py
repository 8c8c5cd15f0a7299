"""Peak memory of one adaptive layer, forward and backward, on a large random graph (Linux).

    python benchmarks/memory.py [--nodes 1000000] [--edges 10000000] [--channels 64]

What counts is the memory beyond the graph, the signal and the incoming gradient. A matrix of
nodes × nodes would take 4 TB at the default size.
"""

import argparse
import json
from pathlib import Path

import torch

from akgnn import Graph, adaptive_propagate


def status(field: str) -> int:
    """A size in bytes from the kernel's account of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return 1024 * int(line.split()[1])
    raise LookupError(field)


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--channels", type=int, default=64)
    options = parser.parse_args()

    half = torch.randint(options.nodes, (2, options.edges // 2))
    graph = Graph.from_edge_index(torch.cat([half, half.flip(0)], 1), num_nodes=options.nodes)
    del half
    h = torch.randn(options.nodes, options.channels, requires_grad=True)
    grad = torch.randn(options.nodes, options.channels)
    r = torch.tensor(1.0, requires_grad=True)

    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # starts the count of the peak anew
    out = adaptive_propagate(graph, h, r)
    out.backward(grad)
    extra = status("VmHWM") - before
    print(
        json.dumps(
            {
                "nodes": graph.num_nodes,
                "edges": graph.num_edges,
                "channels": options.channels,
                "extra_bytes": extra,
                "extra_gib": round(extra / 2**30, 3),
                "signal_gib": round(h.numel() * h.element_size() / 2**30, 3),
            }
        )
    )


if __name__ == "__main__":
    main()
