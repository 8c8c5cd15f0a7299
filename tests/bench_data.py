"""Records of benchmarks for the tests, with numbers that are known."""

from akgnn.bench.record import BOTH, EPOCH, FORWARD, BenchRecord, Case, Timed

VERSIONS = {"akgnn": "0.1.0", "torch": "2.13.0", "commit": "abc123"}
MACHINE = {
    "device": "cpu",
    "processor": "A Processor",
    "cores": 4,
    "threads": 2,
    "began": "2026-01-02T03:04:05+00:00",
    "ended": "2026-01-02T03:05:05+00:00",
}
CARD = {**MACHINE, "device": "A Card"}


def layer_case(edges=1000, *, graph="even", dtype="float32"):
    """The copy moves 1 GB/s; our layer gathers half as much, and its peer a quarter."""
    gathered = 256 * edges
    once = gathered / 0.5e9
    return Case(
        suite="layer",
        graph=graph,
        num_nodes=edges // 10,
        num_edges=edges,
        largest_degree=10,
        channels=64,
        dtype=dtype,
        gathered_bytes=gathered,
        copied_bytes=10**6,
        copy_seconds=(1e-3, 0.9e-3, 5e-3),
        timed=(
            Timed("akgnn", FORWARD, (once,) * 3, 5 * 2**20),
            Timed("akgnn", BOTH, (2 * once,) * 3, 6 * 2**20),
            Timed("torch CSR", FORWARD, (2 * once,) * 3, 7 * 2**20),
            Timed("torch CSR", BOTH, (4 * once,) * 3, 8 * 2**20),
            Timed("PyG scatter", FORWARD, (), None, "out of memory"),
            Timed("PyG scatter", BOTH, (), None, "out of memory"),
        ),
    )


def growth_case(edges, *, dtype="float32"):
    """Ours takes 10 ns an edge and 800 bytes a node, its peer twice that."""
    seconds, memory = 10e-9 * edges, 800 * (edges // 20)
    return Case(
        suite="growth",
        graph="even",
        num_nodes=edges // 20,
        num_edges=edges,
        largest_degree=20,
        channels=64,
        dtype=dtype,
        gathered_bytes=256 * edges,
        copied_bytes=10**6,
        copy_seconds=(1e-3,),
        timed=(
            Timed("akgnn", BOTH, (seconds,) * 3, memory),
            Timed("PyG scatter", BOTH, (2 * seconds,) * 3, 2 * memory)
            if edges < 10**6
            else Timed("PyG scatter", BOTH, (), None, "out of memory"),
        ),
    )


def epoch_case(dataset="cora"):
    return Case(
        suite="epoch",
        graph=dataset,
        num_nodes=2708,
        num_edges=10556,
        largest_degree=168,
        channels=64,
        dtype="float32",
        copied_bytes=10**6,
        copy_seconds=(1e-3,),
        timed=(
            Timed("akgnn", EPOCH, (0.012, 0.010, 0.011), 20 * 2**20),
            Timed("PyG GCN", EPOCH, (0.033, 0.033, 0.040), None),
        ),
    )


def record(*cases, machine=MACHINE):
    return BenchRecord(VERSIONS, machine, 3, cases)


def full_record(machine=MACHINE):
    growth = [growth_case(10**power) for power in range(4, 8)]
    return record(
        layer_case(), layer_case(graph="power-law"), epoch_case(), *growth, machine=machine
    )
