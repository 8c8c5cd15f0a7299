"""Write docs/claims.md from docs/claims.toml and the records; with --check, only say what is wrong.

A claim of the paper has what it `says` and `where`, what was `measured`, a `verdict`, and `checks`.
Numbers are not written but asked for, in braces: `{mean table1; AKGNN; cora}`. What can be asked is
in `QUESTIONS`. A check is a comparison of two such questions or numbers, `{…} > {…}`; the verdict
rests on them, and where one fails no page is written.

Sentences of other documents that have such numbers are in docs/numbers.toml: answered, the `text`
has to stand in the `file`, and its `checks` have to hold. Numbers that are no results, such as
settings and what others published, may be written where `given` says what they are; where that is a
file in results/, it has to be there. In a file of `COVERED` every decimal number of the prose has
to be in a sentence.
"""

import json
import math
import operator
import re
import statistics
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from akgnn import Graph
from akgnn.experiments.record import Record
from akgnn.experiments.results import CellResult, against_row, collect
from akgnn.experiments.spec_files import load_spec
from akgnn.experiments.statistics import Comparison, Summary
from akgnn.experiments.store import RecordStore
from akgnn.layers.kernels import find_kernel
from akgnn.ops.adaptive import adaptive_propagate

ROOT = Path(__file__).parents[1]
CLAIMS, PAGE = ROOT / "docs" / "claims.toml", ROOT / "docs" / "claims.md"
SENTENCES = ROOT / "docs" / "numbers.toml"
COVERED = ("README.md", "docs/choosing.md", "docs/kernels.md", "docs/reproduction.md")
VERDICTS = ("holds", "holds in part", "does not hold")
_QUESTION = re.compile(r"\{([a-z ]+?) ([\w-]+)((?:; [^;{}]+)*)\}")
_CHECK = re.compile(r"(.+?) (>=|<=|==|>|<) (.+)")
_COMPARE = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
}


class ClaimError(Exception):
    """A claim that the records do not bear out, or that asks for what there is not."""


@dataclass(frozen=True)
class Answer:
    """A number, and how it is written."""

    value: float
    text: str


@cache
def records() -> Sequence[Record]:
    """All records."""
    return RecordStore(ROOT / "results").read().records


@cache
def results(spec: str) -> Sequence[CellResult]:
    """The cells of a study."""
    return collect(load_spec(spec), records())


@cache
def against(spec: str, row: str, point: str = "") -> Mapping[tuple[str, str], Comparison]:
    """A row of a study against all others, by row and data set; at a point of the grid."""
    here = [result for result in results(spec) if not point or _is_at(result, point)]
    return against_row(here, row)


def _is_at(result: CellResult, point: str) -> bool:
    return [str(value) for value in result.cell.point.values()] == [point]


def cell(spec: str, row: str, dataset: str, point: str = "") -> CellResult:
    """The cell of a row on a data set, at a point of the grid where there is one."""
    found = [
        result
        for result in results(spec)
        if (result.cell.row.label, result.cell.dataset) == (row, dataset)
        and (not point or _is_at(result, point))
    ]
    if len(found) != 1 or not found[0].finished:
        raise ClaimError(f"No records of {row!r} on {dataset!r} in {spec!r}, or several rows.")
    return found[0]


def summary(spec: str, row: str, dataset: str, point: str = "") -> Summary:
    """Mean and deviation of a cell."""
    found = cell(spec, row, dataset, point).summary
    assert found is not None
    return found


def mean(spec: str, row: str, dataset: str, point: str = "") -> Answer:
    """The mean of a cell."""
    value = summary(spec, row, dataset, point).mean
    return Answer(value, f"{value:.1f}")


def published(spec: str, row: str, dataset: str) -> Answer:
    """What the paper prints for a cell."""
    found = cell(spec, row, dataset).cell.published
    if found is None:
        raise ClaimError(f"Nothing is published for {row!r} on {dataset!r} in {spec!r}.")
    return Answer(found.mean, f"{found.mean:.1f}")


def compared(spec: str, first: str, second: str, dataset: str, point: str = "") -> Comparison:
    """One row against another."""
    cell(spec, first, dataset, point)
    cell(spec, second, dataset, point)
    return against(spec, first, point)[second, dataset]


def difference(spec: str, first: str, second: str, dataset: str, point: str = "") -> Answer:
    """The difference of two rows, with its interval."""
    found = compared(spec, first, second, dataset, point)
    low, high = found.ci95
    return Answer(found.difference, f"{found.difference:+.1f} [{low:+.1f}, {high:+.1f}]")


def apart(spec: str, first: str, second: str, dataset: str, point: str = "") -> Answer:
    """How far two rows are apart, whichever is higher."""
    value = abs(compared(spec, first, second, dataset, point).difference)
    return Answer(value, f"{value:.1f}")


def off(spec: str, row: str, dataset: str) -> Answer:
    """How far a row is from what is published, whichever is higher."""
    value = abs(mean(spec, row, dataset).value - published(spec, row, dataset).value)
    return Answer(value, f"{value:.1f}")


def share(spec: str, row: str, dataset: str, layer: str) -> Answer:
    """The mean share of neighbours that a layer learned, counted from 1."""
    found = cell(spec, row, dataset).finished
    value = statistics.fmean(record.neighbour_share[int(layer) - 1] for record in found)
    return Answer(value, f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−"))


def verdict(spec: str, first: str, second: str, dataset: str, point: str = "") -> Answer:
    """1, -1 or 0 where the first row is higher, lower or no difference is shown."""
    text = compared(spec, first, second, dataset, point).verdict
    return Answer({"higher": 1.0, "lower": -1.0}.get(text, 0.0), text)


def beaten(spec: str, row: str, dataset: str) -> Answer:
    """How many other rows this one is higher than."""
    here = against(spec, row)
    number = sum(
        here[other, where].verdict == "higher" for other, where in here if where == dataset
    )
    return Answer(number, str(number))


def rank(spec: str, row: str, dataset: str) -> Answer:
    """The place of a row by its mean, from 1; `all` takes the mean over the data sets."""
    names = load_spec(spec).datasets if dataset == "all" else [dataset]
    means = {
        label: statistics.fmean(summary(spec, label, name).mean for name in names)
        for label in dict.fromkeys(result.cell.row.label for result in results(spec))
    }
    place = 1 + sum(value > means[row] for value in means.values())
    return Answer(place, str(place))


def scalar(spec: str, row: str, dataset: str, layers: str, layer: str) -> Answer:
    """The mean λ that a layer learned, counted from 1, in networks of so many layers."""
    found = cell(spec, row, dataset, layers).finished
    value = statistics.fmean(record.lambda_max[int(layer) - 1] for record in found)
    return Answer(value, f"{value:.2f}")


def deviation(spec: str, row: str, dataset: str) -> Answer:
    """The standard deviation of single runs."""
    value = summary(spec, row, dataset).std
    return Answer(value, f"{value:.1f}")


def readout(what: str, dataset: str) -> Answer:
    """What learning λ changes: the `cosine` to the readout of λ = 2, or `changed` classes in %."""
    text = (ROOT / "results" / "readout-cosine.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    value = statistics.fmean(line[what] for line in lines if line["dataset"] == dataset)
    return Answer(value, f"{value:.4f}" if what == "cosine" else f"{100 * value:.1f}")


def fsgnn(what: str, dataset: str) -> Answer:
    """Of `benchmarks/fsgnn.py`: the mean of an entry of its lines, such as `test_accuracy`."""
    text = (ROOT / "results" / "fsgnn.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    value = statistics.fmean(line[what] for line in lines if line["dataset"] == dataset)
    return Answer(value, f"{value:.2f}" if "homophily" in what else f"{value:.1f}")


def energy(readout: str, learned: str, layers: str, what: str = "readout") -> Answer:
    """The mean Dirichlet energy after training on Cora, of `benchmarks/energy.py`.

    Of what the classifier sees, or of one layer's signal, `first` or `last`.
    """
    text = (ROOT / "results" / "energy.jsonl").read_text(encoding="utf-8")
    place = {"first": 1, "last": -1}
    values = [
        line["energy"] if what == "readout" else line["layers"][place[what]]
        for line in map(json.loads, text.splitlines())
        if (line["readout"], line["learn_lambda"], line["num_layers"])
        == (readout, {"learned": True, "fixed": False}[learned], int(layers))
    ]
    value = statistics.fmean(values)
    return Answer(value, f"{value:.3f}")


def vote(what: str, dataset: str, preset: str = "") -> Answer:
    """Of `benchmarks/votes.py`, means over splits: the `score` of a vote, or of a `preset`.

    Or how much the vote has `over` a preset, over the best alone if none is named; or `above` a
    row of the study `medium`.
    """
    text = (ROOT / "results" / "votes.jsonl").read_text(encoding="utf-8")
    lines = [line for line in map(json.loads, text.splitlines()) if line["dataset"] == dataset]
    together = statistics.fmean(line["vote"] for line in lines)
    if what == "above":
        alone = mean("medium", preset, dataset).value
    else:
        alone = statistics.fmean(line["presets"][preset or line["best"]] for line in lines)
    value = {"score": together, "preset": alone}.get(what, together - alone)
    return Answer(value, f"{abs(value):.1f}")


def cost(model: str, layers: str, width: str) -> Answer:
    """Milliseconds of an epoch on PubMed, of `benchmarks/cost.py`: the median."""
    text = (ROOT / "results" / "cost.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    (line,) = [
        line
        for line in lines
        if (line["model"], line["num_layers"], line["hidden_channels"])
        == (model, int(layers), int(width))
    ]
    value = statistics.median(line["milliseconds"])
    return Answer(value, f"{value:.0f}")


def evenness(model: str) -> Answer:
    """What a layer costs from the tenth to the twentieth, over what one costs from the fifth on."""
    fifth, tenth, last = (cost(model, layers, "64").value for layers in ("5", "10", "20"))
    value = (last - tenth) / 10 / ((tenth - fifth) / 5)
    return Answer(value, f"{value:.2f}")


def theory(name: str) -> Answer:
    """A number that follows from the formula alone, on a star of four nodes."""
    value = _THEORY[name]()
    return Answer(value, f"{value:.2f}")


def _kernel(scalar: float) -> torch.Tensor:
    """A*_k of Eq. 6 at this λ, on a star of four nodes: degrees differ."""
    edges = torch.tensor([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])
    star = Graph.from_edge_index(edges, num_nodes=4)
    loop = find_kernel("paper").phi_of(scalar)
    return adaptive_propagate(star, torch.eye(4, dtype=torch.float64), loop)


def _commutator() -> float:
    one, other = _kernel(1.5), _kernel(4.0)
    return float((one @ other - other @ one).abs().max())


def _least_eigenvalue() -> float:
    return float(torch.linalg.eigvalsh(_kernel(1.0)).min())


_THEORY: Mapping[str, Callable[[], float]] = {
    "commutator": _commutator,
    "least-eigenvalue": _least_eigenvalue,
}

QUESTIONS: Mapping[str, Callable[..., Answer]] = {
    "mean": mean,
    "published": published,
    "difference": difference,
    "apart": apart,
    "off": off,
    "share": share,
    "verdict": verdict,
    "beaten": beaten,
    "rank": rank,
    "lambda": scalar,
    "deviation": deviation,
    "readout": readout,
    "energy": energy,
    "fsgnn": fsgnn,
    "vote": vote,
    "cost": cost,
    "evenness": evenness,
    "theory": theory,
}
"""What can be asked: the name of a study, then what the function takes, separated by semicolons."""


def answer(found: re.Match[str]) -> Answer:
    """The answer to one question in braces."""
    kind, spec, rest = found[1], found[2], found[3]
    if kind not in QUESTIONS:
        raise ClaimError(f"{found[0]}: there is no question {kind!r}.")
    try:
        given = QUESTIONS[kind](spec, *[part.strip() for part in rest.split(";")[1:]])
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise ClaimError(f"{found[0]} has no answer: {error}.") from error
    if not math.isfinite(given.value):
        raise ClaimError(f"{found[0]} has no answer in the records.")
    return given


def filled(text: str) -> str:
    """A text with its questions answered; any number that was written by hand is refused."""
    numbered = r"\b(Eq|Table|Fig|K|λ)[. =]+\d+|λ fixed at 2|\d+ (claims|seeds|splits|runs)"
    if re.search(r"\d", re.sub(numbered, "", _QUESTION.sub("", text))):
        raise ClaimError(f"A number is written, not asked for, in: {text}")
    return _QUESTION.sub(lambda found: answer(found).text, text)


def holds(check: str) -> bool:
    """Whether a comparison holds."""
    found = _CHECK.fullmatch(check)
    if found is None:
        raise ClaimError(f"{check!r} is no comparison.")
    sides = []
    for side in (found[1], found[3]):
        question = _QUESTION.fullmatch(side)
        sides.append(float(side) if question is None else answer(question).value)
    return bool(_COMPARE[found[2]](*sides))


def check_sentences(
    sentences: Sequence[Mapping[str, Any]], root: Path = ROOT, covered: Sequence[str] = COVERED
) -> None:
    """Refuse a sentence that its file does not have, and a number that no sentence has."""
    said: dict[str, list[str]] = {name: [] for name in covered}
    for sentence in sentences:
        text, name = _answered(sentence), sentence["file"]
        if text not in _prose((root / name).read_text(encoding="utf-8")):
            raise ClaimError(f"{name} does not say: {text}")
        said.setdefault(name, []).append(text)
    for name in covered:
        prose = _prose((root / name).read_text(encoding="utf-8"))
        for text in said[name]:
            prose = prose.replace(text, "")
        prose = re.sub(r"(Python|torch) \d[\d.]*( to \d[\d.]*\b)?", "", prose)
        left = re.search(r".{0,40}\b\d+\.\d.{0,20}", prose)
        if left:
            raise ClaimError(f"{name} has a number that no record is named for: …{left[0]}…")


def _answered(sentence: Mapping[str, Any]) -> str:
    """The text of a sentence; what is given in it has to come from somewhere."""
    for check in sentence.get("checks", ()):
        if not holds(check):
            raise ClaimError(f"{sentence['text']}: {check} does not hold.")
    source = sentence.get("given")
    if source is None:
        return filled(sentence["text"])
    if source.startswith("results/") and not (ROOT / source).exists():
        raise ClaimError(f"{sentence['text']}: there is no {source}.")
    return _QUESTION.sub(lambda found: answer(found).text, sentence["text"])


def _prose(document: str) -> str:
    """What is neither code nor table, in one line."""
    document = re.sub(r"^```.*?^```$|<!-- table .*?<!-- end -->", "", document, flags=re.S | re.M)
    return " ".join(re.sub(r"^(    |\|).*$", "", document, flags=re.M).split())


def read(file: Path = CLAIMS) -> list[dict[str, Any]]:
    """The claims, each with a verdict that its checks bear out."""
    claims: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))["claims"]
    for claim in claims:
        if claim["verdict"] not in VERDICTS or not claim["checks"]:
            raise ClaimError(f"{claim['says']}: a verdict is one of {VERDICTS}, and has checks.")
        for check in claim["checks"]:
            if not holds(check):
                raise ClaimError(f"{claim['says']}: {check} does not hold; look at the verdict.")
    return claims


def page(claims: Sequence[Mapping[str, Any]]) -> str:
    """The document."""
    counts = {name: sum(claim["verdict"] == name for claim in claims) for name in VERDICTS}
    lines = [
        "# What the paper claims, and what holds",
        "",
        f"Of {len(claims)} claims {counts['holds']} hold, {counts['holds in part']} hold in part, "
        f"{counts['does not hold']} do not.",
        "Every measured number is computed from the records in `results/` by",
        "`python tools/claims.py`, which refuses one that was typed in, and a verdict that the",
        "records do not bear out.",
        "[The paper, measured again](reproduction.md) has the tables.",
        "",
        "| claim | the paper says | measured | verdict |",
        "| --- | --- | --- | --- |",
    ]
    for number, claim in enumerate(claims, start=1):
        study = f" (`akgnn reproduce {claim['study']}`)" if "study" in claim else ""
        says = f"{claim['says']} *{claim['where']}*"
        measured = f"{filled(claim['measured'])}{study}"
        lines.append(f"| {number} | {says} | {measured} | **{claim['verdict']}** |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write or check the page; gives the exit status."""
    try:
        text = page(read())
        check_sentences(tomllib.loads(SENTENCES.read_text(encoding="utf-8"))["sentences"])
    except ClaimError as error:
        print(error)
        return 1
    if text == (PAGE.read_text(encoding="utf-8") if PAGE.exists() else None):
        return 0
    is_check = "--check" in sys.argv
    print(f"{'Stale' if is_check else 'Updated'}: docs/claims.md")
    if not is_check:
        PAGE.write_text(text, encoding="utf-8")
    return int(is_check)


if __name__ == "__main__":
    sys.exit(main())
