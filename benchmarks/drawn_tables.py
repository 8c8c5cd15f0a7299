"""Nine tables of nodes and links, drawn at random, with columns of every kind.

They differ in what helps: columns, links or both; links between equals, between anyone or between
opposites; words, dates, categories without end, gaps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
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
