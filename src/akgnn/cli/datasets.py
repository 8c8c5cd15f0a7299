"""`akgnn datasets`."""

import typer

from akgnn.cli.show import print_json, print_table
from akgnn.cli.terminal import say


def datasets(as_json: bool = typer.Option(False, "--json", help="Print one JSON object.")) -> None:
    """List the data sets, and which of them are directed.

    Example: akgnn datasets
    """
    from akgnn.data.catalogue import (
        BUNDLED,
        DIRECTED,
        FILTERED,
        GENERATED,
        REGISTERED,
        load_dataset,
    )
    from akgnn.data.published import PYG_SOURCES

    bundled = []
    for name in BUNDLED:
        data = load_dataset(name)
        split = data.split
        bundled.append(
            {
                "name": name,
                "nodes": data.graph.num_nodes,
                "edges": data.graph.num_edges,
                "features": data.num_features,
                "classes": data.num_classes,
                "homophily": round(data.edge_homophily, 4),
                "train": len(split.train),
                "val": len(split.val),
                "test": len(split.test),
                "split": split.label,
            }
        )
    if as_json:
        others = {"generated": GENERATED, "filtered": FILTERED, "pyg": list(PYG_SOURCES)}
        others["registered"] = list(REGISTERED)
        print_json({"bundled": bundled, **others, "directed": DIRECTED})
        return
    print_table(list(bundled[0]), [[str(value) for value in row.values()] for row in bundled])
    say()
    say("Edges count both directions; homophily is the share of edges within a class.")
    say()
    say(
        "Generated: csbm, with settings as in csbm:homophily=0.2,degree=5,seed=1, and large, of "
        "any size, as in large:num_nodes=1e6,degree=30"
    )
    say()
    say(f"Read from files in the folder `filtered` of the data root: {', '.join(FILTERED)}")
    say()
    say(f"Through PyG, downloaded on first use: {', '.join(PYG_SOURCES)}")
    say("PyG unpickles what it downloads; the data sets above are read without pickle.")
    if REGISTERED:
        say()
        say(f"Registered in Python: {', '.join(REGISTERED)}")
    say()
    say(
        "Directed; akgnn train makes them undirected unless --direction kept is given: "
        f"{', '.join(DIRECTED)}"
    )
