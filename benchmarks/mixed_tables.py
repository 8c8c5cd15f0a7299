"""Nine tables with columns of every kind, drawn at random, and what each method makes of them.

    python benchmarks/mixed_tables.py write FOLDER               # nodes and edges as Parquet
    python benchmarks/mixed_tables.py contest [--table NAME]     # the default beside other methods

The tables are those of drawn_tables.py. `contest` trains `akgnn` with no option but the label on
three splits of each, and beside it what a person would try otherwise: logistic regression and
gradient boosting on the columns, label spreading on the links, GCN and our own presets on both. All
see the same split, and choose by the same validation nodes.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from drawn_tables import TABLES, Array, Drawn, draw


def split_of(data: Any) -> tuple[Array, Array, Array]:
    """The three sets of nodes as arrays."""
    split = data.split
    return tuple(nodes.numpy() for nodes in (split.train, split.val, split.test))  # type: ignore


def most_frequent(data: Any, seed: int) -> float:
    """Always the class that most training nodes have."""
    train, _, test = split_of(data)
    y = data.y.numpy()
    return float(100 * (y[test] == np.bincount(y[train]).argmax()).mean())


def logistic_regression(data: Any, seed: int) -> float:
    """On the prepared columns, its penalty chosen on validation."""
    from sklearn.linear_model import LogisticRegression

    x = _matrix(data)
    return _best(data, [(x, LogisticRegression(C=c, max_iter=500)) for c in (0.01, 0.1, 1.0, 10.0)])


def gradient_boosting(data: Any, seed: int) -> float:
    """On the prepared columns, many sparse ones also as 50 directions; validation chooses."""
    from scipy import sparse
    from sklearn.decomposition import TruncatedSVD
    from sklearn.ensemble import HistGradientBoostingClassifier

    x = _matrix(data)
    inputs = [x.toarray() if sparse.issparse(x) else x]
    if sparse.issparse(x) and x.shape[1] > 300:
        inputs.append(TruncatedSVD(50, random_state=seed).fit_transform(x))
    models = [
        HistGradientBoostingClassifier(learning_rate=rate, random_state=seed, max_leaf_nodes=leaves)
        for rate, leaves in ((0.1, 31), (0.05, 8))
    ]
    return _best(data, [(each, model) for each in inputs for model in models])


def label_spreading(data: Any, seed: int) -> float:
    """F ← α S F + (1 - α) Y with the symmetric adjacency S; α chosen on validation."""
    from scipy import sparse

    train, val, test = split_of(data)
    y, (source, target) = data.y.numpy(), data.graph.edge_index.numpy()
    size = len(y)
    adjacency = sparse.csr_array((np.ones(len(source)), (source, target)), (size, size))
    scale = 1 / np.sqrt(np.maximum(adjacency.sum(1), 1))
    s = sparse.diags_array(scale) @ adjacency @ sparse.diags_array(scale)
    start = np.zeros((size, data.num_classes))
    start[train, y[train]] = 1
    share = np.bincount(y[train], minlength=data.num_classes) / len(train)
    scores = []
    for alpha in (0.3, 0.6, 0.8, 0.9, 0.95, 0.99):
        f = start
        for _ in range(50):
            f = alpha * (s @ f) + (1 - alpha) * start
        predicted = (f + 1e-9 * share).argmax(1)
        scores.append(tuple((predicted[part] == y[part]).mean() for part in (val, test)))
    return float(100 * max(scores)[1])


def _matrix(data: Any) -> Any:
    from akgnn.data.transforms import as_rows

    return as_rows(data.x)


def _best(data: Any, tried: Sequence[tuple[Any, Any]]) -> float:
    """The test score of the model that validation chooses, each with what it sees."""
    train, val, test = split_of(data)
    y = data.y.numpy()
    scores = []
    for x, model in tried:
        model.fit(x[train], y[train])
        scores.append((model.score(x[val], y[val]), model.score(x[test], y[test])))
    return float(100 * max(scores)[1])


def trained(drawn: Drawn, seed: int, **settings: Any) -> tuple[float, float]:
    """The test accuracy of `akgnn.train`, and its seconds."""
    import akgnn

    start = time.perf_counter()
    run = akgnn.train(nodes=drawn.nodes, edges=drawn.edges, seed=seed, split_seed=seed, **settings)
    return run.result.test_accuracy, time.perf_counter() - start


OTHERS: dict[str, Callable[[Any, int], float]] = {
    "most frequent": most_frequent,
    "logistic regression": logistic_regression,
    "gradient boosting": gradient_boosting,
    "label spreading": label_spreading,
}
OURS: dict[str, dict[str, Any]] = {
    "default": {},
    "gcn": {"model": "gcn", "preset": "any-graph"},
    "gcn (paper)": {"model": "gcn", "preset": "paper"},
    "mlp": {"model": "mlp", "preset": "any-graph"},
    "appnp": {"model": "appnp", "preset": "any-graph"},
    "akgnn (paper)": {"preset": "paper"},
    "akgnn (searched)": {"preset": "searched"},
    "akgnn (any-graph)": {"preset": "any-graph"},
    "akgnn (mixed-columns)": {"preset": "mixed-columns"},
    "akgnn (no labels)": {"preset": "mixed-columns-no-labels"},
    "akgnn (deep)": {"preset": "mixed-columns-deep"},
}


def contest(names: Sequence[str], methods: Sequence[str], seeds: int, draw_seed: int) -> None:
    """Print a line of JSON for every table, method and seed."""
    from akgnn.data.tables.load import load_tables

    for name in names:
        drawn = draw(name, draw_seed)
        for seed in range(seeds):
            data = None
            for method in methods or [*OTHERS, *OURS]:
                start = time.perf_counter()
                if method in OTHERS:
                    data = data or load_tables(drawn.nodes, drawn.edges, split_seed=seed)
                    score, seconds = OTHERS[method](data, seed), time.perf_counter() - start
                else:
                    score, seconds = trained(drawn, seed, **OURS[method])
                found = {"table": name, "method": method, "seed": seed, "accuracy": round(score, 3)}
                print(json.dumps({**found, "seconds": round(seconds, 2)}), flush=True)


def summary(lines: Sequence[str]) -> None:
    """Print a table of the means, from the lines that `contest` printed."""
    scores: dict[str, dict[str, list[float]]] = {}
    for line in lines:
        found = json.loads(line)
        by_table = scores.setdefault(found["method"], {})
        by_table.setdefault(found["table"], []).append(found["accuracy"])
    tables = list(dict.fromkeys(table for by_table in scores.values() for table in by_table))
    print(f"{'method':<22}" + "".join(f"{table[:9]:>10}" for table in tables))
    for method, by_table in scores.items():
        cells = [f"{np.mean(by_table[t]):10.1f}" if t in by_table else " " * 10 for t in tables]
        print(f"{method:<22}" + "".join(cells))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["write", "contest", "summary"])
    parser.add_argument("folder", nargs="?", type=Path, help="where `write` puts the files")
    parser.add_argument("--table", action="append", choices=TABLES, help="only this; repeatable")
    parser.add_argument("--method", action="append", help="only this; repeatable")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--draw", type=int, default=0, help="seed of the tables")
    given = parser.parse_args()
    names = given.table or list(TABLES)
    if given.what == "contest":
        contest(names, given.method or [], given.seeds, given.draw)
    elif given.what == "summary":
        summary(sys.stdin.readlines())
    else:
        given.folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            drawn = draw(name, given.draw)
            for kind in ("nodes", "edges"):
                pq.write_table(getattr(drawn, kind), given.folder / f"{name}-{kind}.parquet")


if __name__ == "__main__":
    main()
