"""Nine tables with columns of every kind, drawn at random, and what each method makes of them.

    python benchmarks/mixed_tables.py write FOLDER               # nodes and edges as Parquet
    python benchmarks/mixed_tables.py contest [--table NAME]     # the default beside other methods

The tables differ in what helps: columns, links or both; links between equals, between anyone or
between opposites; words, dates, categories without end, gaps. `contest` trains `akgnn` with no
option but the label on three splits of each, and beside it what a person would try otherwise:
logistic regression and gradient boosting on the columns, label spreading on the links, GCN and our
own presets on both. All see the same split, and choose by the same validation nodes.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Array = NDArray[Any]
_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


@dataclass(frozen=True)
class Drawn:
    """A table of nodes and one of links."""

    nodes: pa.Table
    edges: pa.Table


def club(rng: np.random.Generator) -> Drawn:
    """200 members: age, fee and town say something, and friends mostly vote alike."""
    y = rng.integers(0, 2, 200)
    columns = {
        "age": (38 + 9 * y + rng.normal(0, 12, 200)).round(),
        "fee": np.exp(rng.normal(3 + 0.4 * y, 1, 200)).round(2),
        "town": rng.choice(["Ulm", "Bonn", "Kiel"], 200),
        "member since": _days(2005 + 4 * y + rng.normal(0, 5, 200), rng),
        "newsletter": rng.random(200) < 0.5,
        "club": np.full(200, "North"),
    }
    return _drawn(rng, y, columns, _links(rng, y, 5, 0.75))


def campus(rng: np.random.Generator) -> Drawn:
    """3,000 students: year, status and house, and friends of the same year rather than sex."""
    size = 3000
    y = rng.integers(0, 2, size)
    year = rng.integers(2003, 2010, size)
    house = np.where(rng.random(size) < 0.25, 10 * y, rng.integers(0, 40, size))
    status = np.where(rng.random(size) < 0.3 + 0.15 * y, "graduate", "student")
    columns = {
        "year": _gaps(rng, year.astype(float), 0.12),
        "status": status,
        "house": np.char.add("house ", house.astype(str)),
        "major": rng.integers(0, 60, size) + 5 * (rng.random(size) < 0.2) * y,
        "second major": _gaps(rng, rng.integers(0, 60, size).astype(float), 0.6),
    }
    return _drawn(rng, y, columns, _links(rng, year - 2003 + 7 * y, 20, 0.3, neighbours=2))


def shop(rng: np.random.Generator) -> Drawn:
    """6,000 products: a description, a price and a brand; bought together means much alike."""
    size = 6000
    y = rng.integers(0, 6, size)
    columns = {
        "description": _texts(rng, y, 6, words=12, share=0.18),
        "price": np.exp(rng.normal(2 + 0.25 * y, 1.2)).round(2),
        "brand": _codes(rng, np.where(rng.random(size) < 0.3, y * 200, 0), 1500),
        "stock": rng.poisson(8, size),
    }
    return _drawn(rng, y, columns, _links(rng, y, 4, 0.55))


def forum(rng: np.random.Generator) -> Drawn:
    """4,000 posts: when they were written and one line of text; who answers says nothing."""
    size = 4000
    y = rng.integers(0, 3, size)
    hour = np.clip(rng.normal(9 + 6 * y, 3.5), 0, 23.9)
    day = rng.integers(0, 700, size)
    start = np.datetime64("2021-03-01T00:00:00", "s")
    written = start + (day * 86400 + hour * 3600).astype("timedelta64[s]")
    columns = {
        "written": written,
        "title": _texts(rng, y, 3, words=6, share=0.15),
        "votes": rng.negative_binomial(1, 0.05, size) + 4 * (y == 2),
        "pinned": rng.random(size) < 0.02,
    }
    return _drawn(rng, y, columns, _links(rng, y, 6, 1 / 3))


def sensors(rng: np.random.Generator) -> Drawn:
    """2,500 devices: 12 readings, 40 % of them missing; neighbours are in the same state."""
    size = 2500
    y = rng.integers(0, 4, size)
    centre = rng.normal(0, 0.7, (4, 12))
    readings = (centre[y] + rng.normal(0, 1.3, (size, 12))) * np.logspace(-3, 5, 12)
    readings[rng.random((size, 12)) < 0.4] = np.nan
    # Broken devices report nonsense.
    readings[rng.random((size, 12)) < 0.004] *= 1e4
    columns: dict[str, Any] = {f"reading {k}": readings[:, k] for k in range(12)}
    columns["model"] = _gaps(rng, rng.choice(["A1", "A2", "B7", "C3"], size), 0.4)
    return _drawn(rng, y, columns, _links(rng, y, 4, 0.6))


def dating(rng: np.random.Generator) -> Drawn:
    """4,000 people: most links lead to the other classes; age, height and answers help a little."""
    size = 4000
    y = rng.integers(0, 3, size)
    columns = {
        "born": _days(1985 + 3 * y + rng.normal(0, 8, size), rng),
        "height": rng.normal(168 + 3 * (y == 1), 9, size).round(1),
        "answers": np.array(["yes", "no", "perhaps"])[(y + rng.integers(0, 3, size) // 2) % 3],
        "visits": rng.poisson(np.array([4, 5, 6])[y]),
        "handle": _codes(rng, np.arange(size) * 7919, 10**9),
    }
    return _drawn(rng, y, columns, _links(rng, y, 7, 0.08))


def fraud(rng: np.random.Generator) -> Drawn:
    """20,000 accounts, 15 % bad: thresholds and pairs of columns tell; links hardly."""
    size = 20_000
    amount, age = np.exp(rng.normal(4, 1.5, size)), rng.exponential(400, size)
    country = rng.integers(0, 30, size)
    rate = rng.beta(2, 5, size)
    risk = (
        3.2 * ((amount > 150) & (age < 120))
        + 3.0 * ((rate > 0.45) & (country % 7 == 0))
        + 2.5 * (np.abs(np.log(amount) - 3) < 0.15)
        + rng.logistic(0, 0.5, size)
    )
    y = (risk > np.quantile(risk, 0.85)).astype(int)
    columns = {
        "amount": amount.round(2),
        "account age": age.round(1),
        "country": np.char.add("C", country.astype(str)),
        "rate": rate.round(4),
        "opened": _days(2015 + rng.random(size) * 8, rng),
    }
    return _drawn(rng, y, columns, _links(rng, y, 5, 0.4))


def streamers(rng: np.random.Generator) -> Drawn:
    """7,000 channels: views, days and language say next to nothing; followers are alike."""
    size = 7000
    y = (rng.random(size) < 0.4).astype(int)
    columns = {
        "views": np.exp(rng.normal(9 + 0.1 * y, 2)).round(),
        "days": rng.integers(1, 3000, size),
        "mature": rng.random(size) < 0.45 + 0.05 * y,
        "partner": np.where(rng.random(size) < 0.05, "True", "False"),
    }
    # Communities, each with its own share of a class.
    community = rng.integers(0, 60, size)
    flip = rng.random(60) < 0.5
    y = np.where(rng.random(size) < 0.75, flip[community].astype(int), y)
    return _drawn(rng, y, columns, _links(rng, community, 12, 0.7))


def cities(rng: np.random.Generator) -> Drawn:
    """50,000 firms: 3,000 towns, turnover over ten powers of ten, words; links help."""
    size = 50_000
    y = rng.integers(0, 5, size)
    words = (rng.random((size, 12)) < 0.08 + 0.1 * (np.arange(12) % 5 == y[:, None])).astype(int)
    columns: dict[str, Any] = {
        "town": _codes(rng, np.where(rng.random(size) < 0.35, y * 600, 0), 3000),
        "turnover": 10 ** rng.normal(5 + 0.2 * y, 2.0),
        "staff": rng.negative_binomial(1, 0.02, size) + 1,
        "founded": rng.integers(1900, 2024, size) + 3 * y,
        **{f"word {k}": words[:, k] for k in range(12)},
    }
    return _drawn(rng, y, columns, _links(rng, y, 4, 0.45))


TABLES: dict[str, Callable[[np.random.Generator], Drawn]] = {
    function.__name__: function
    for function in (club, campus, shop, forum, sensors, dating, fraud, streamers, cities)
}


def draw(name: str, seed: int = 0) -> Drawn:
    """The tables of this name; another seed draws others of the same kind."""
    return TABLES[name](np.random.default_rng([seed, *name.encode()]))


def _drawn(rng: np.random.Generator, y: Array, columns: dict[str, Any], ends: Array) -> Drawn:
    ids = np.array([f"n{k:06d}" for k in rng.permutation(10**6)[: len(y)]])
    label = pa.array([f"class {k}" for k in y])
    arrays = {
        name: pa.array(values, from_pandas=True) if isinstance(values, np.ndarray) else values
        for name, values in columns.items()
    }
    nodes = pa.table({"id": ids, "label": label, **arrays})
    source, target = ids[ends]
    return Drawn(nodes, pa.table({"source": source, "target": target}))


def _links(
    rng: np.random.Generator, kind: Array, degree: float, alike: float, neighbours: int = 0
) -> Array:
    """Links of nodes to others of their kind with probability `alike`, else to others.

    Some nodes have many links and some none. With `neighbours`, kinds so near by number are alike.
    """
    size, kinds = len(kind), int(kind.max()) + 1
    number = int(size * degree / 2)
    weight = rng.pareto(2.5, size) + 0.2
    source = rng.choice(size, number, p=weight / weight.sum())
    wanted = kind[source]
    if neighbours:
        wanted = np.clip(wanted + rng.integers(-neighbours, neighbours + 1, number), 0, kinds - 1)
    other = (wanted + rng.integers(1, max(kinds, 2), number)) % kinds
    wanted = np.where(rng.random(number) < alike, wanted, other)
    target = np.zeros(number, dtype=np.int64)
    for k in range(kinds):
        members, places = np.flatnonzero(kind == k), np.flatnonzero(wanted == k)
        share = weight[members] / weight[members].sum()
        target[places] = rng.choice(members, len(places), p=share)
    keep = source != target
    return np.stack([source[keep], target[keep]])


def _words(rng: np.random.Generator, number: int) -> Array:
    return np.array(
        ["".join(_LETTERS[rng.integers(0, 26, rng.integers(3, 9))]) for _ in range(number)]
    )


def _texts(rng: np.random.Generator, y: Array, kinds: int, words: int, share: float) -> pa.Array:
    """Sentences: common words by Zipf's law, and a share of words of the node's class."""
    common, special = _words(rng, 3000), _words(rng, 60 * kinds)
    usual = np.minimum(rng.zipf(1.3, (len(y), words)), 3000) - 1
    own = 60 * y[:, None] + rng.integers(0, 60, (len(y), words))
    chosen = np.where(rng.random((len(y), words)) < share, special[own], common[usual])
    length = rng.integers(words // 2, words + 1, len(y))
    return pa.array(
        [" ".join(row[:number]).capitalize() for row, number in zip(chosen, length, strict=True)]
    )


def _codes(rng: np.random.Generator, shift: Array, most: int) -> Array:
    """Codes such as K0123, the small ones often and most of them seldom, shifted by a number."""
    rank = np.minimum(rng.zipf(1.5, len(shift)), most)
    return np.array([f"K{k:04d}" for k in (rank + shift) % most])


def _days(year: Array, rng: np.random.Generator) -> Array:
    day = (np.asarray(year) - 1970) * 365.25 + rng.integers(0, 30, len(year))
    return np.asarray(day.astype("datetime64[D]"))


def _gaps(rng: np.random.Generator, values: Array, share: float) -> pa.Array:
    return pa.array(values, mask=rng.random(len(values)) < share)


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
    return _best(data, x, [LogisticRegression(C=c, max_iter=500) for c in (0.01, 0.1, 1.0, 10.0)])


def gradient_boosting(data: Any, seed: int) -> float:
    """On the prepared columns; many sparse ones as 50 directions of the largest variance."""
    from scipy import sparse
    from sklearn.decomposition import TruncatedSVD
    from sklearn.ensemble import HistGradientBoostingClassifier

    x = _matrix(data)
    if sparse.issparse(x):
        x = (
            TruncatedSVD(50, random_state=seed).fit_transform(x)
            if x.shape[1] > 300
            else x.toarray()
        )
    models = [
        HistGradientBoostingClassifier(learning_rate=rate, random_state=seed, max_leaf_nodes=leaves)
        for rate, leaves in ((0.1, 31), (0.05, 8))
    ]
    return _best(data, x, models)


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
    from scipy import sparse

    if not hasattr(data.x, "pattern"):
        return data.x.numpy()
    x = data.x
    value = np.ones(x.num_entries) if x.value is None else x.value.numpy()
    return sparse.csr_matrix((value, x.pattern.col.numpy(), x.pattern.rowptr.numpy()), x.shape)


def _best(data: Any, x: Any, models: Sequence[Any]) -> float:
    """The test score of the model that validation chooses."""
    train, val, test = split_of(data)
    y = data.y.numpy()
    scores = []
    for model in models:
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
