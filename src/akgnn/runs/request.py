"""What can be asked of a training: every option once, with its default, its help and its rules.

`akgnn train` and `akgnn.train` are made from `Request`. Nothing here imports torch, so that
`akgnn --help` answers at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, Field, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from akgnn.errors import SettingsError
from akgnn.settings import MOST_RUNS

if TYPE_CHECKING:
    from akgnn.training.callbacks import Callback

DATA, TABLES, MODEL, TRAINING, OUTPUT = (
    "Data", "Your own tables", "Model", "Training", "Output",
)  # fmt: skip
"""The groups of options in `--help`."""
AUTO = "auto"
"""The name of the model if several models are to be tried."""
_MOST_FOLDS, _MOST_PROCESSES = 1000, 10_000
# Seconds of silence. Processes that lost another take a second to agree on which one it was.
_LEAST_TIMEOUT, _MOST_TIMEOUT = 1, 1_000_000
# What a folder of parts leaves open; it fixes the data and the split, and trains one run.
_WITH_PARTS = {
    "config", "model", "preset", "kernel", "settings", "seed", "device", "out", "resume",
    "checkpoint_seconds", "parts", "processes", "mesh", "parts_at_once", "timeout", "callbacks",
}  # fmt: skip
_OF_PARTS = ("processes", "mesh", "parts_at_once", "timeout")


OF_DATA = (
    "dataset", "nodes", "edges", "label", "id", "source", "target", "weight", "columns", "prepare",
    "standardise", "missing", "unknown_ids", "neighbours", "split", "split_seed", "features",
    "direction", "data_root",
)  # fmt: skip
"""The options that say which data."""


def _option(panel: str, text: str, default: Any = None, **shell: Any) -> Any:
    """A field that is an option.

    Args:
        panel: Its group in `--help`.
        text: Its help.
        default: Its default; None if a settings file, the data or the preset decides.
        shell: What the command line alone needs: `flag`, `kind` (the type of its argument),
            `metavar`, and `completes` (the kind of names that a shell completes).
    """
    return field(default=default, metadata={"panel": panel, "help": text, **shell})


@dataclass(frozen=True)
class Request:
    """What to train: data, model, and how.

    Attributes:
        dataset: Name of a data set; Cora if no tables are given either.
        nodes: Path or DataFrame of one's own nodes, one per row.
        edges: Path or DataFrame of their edges, or a list of several. If not given, each row is
            linked to its nearest rows.
        label: Column of the classes, empty where unknown.
        id: Column of the ids.
        source: Column of the edge table with the id where an edge starts.
        target: Column with the id where it ends.
        weight: Column of the edge weights; if not given, every edge weighs 1.
        columns: Feature columns, such as `age,word_*,!word_the`.
        prepare: `auto` prepares columns by their kind; `plain` takes them as they are.
        standardise: Whether to scale all numbers to mean 0 and standard deviation 1.
        missing: `fill` or `refuse` missing values.
        unknown_ids: `refuse` or `drop` edges to ids without a node.
        neighbours: Nearest rows that each row is linked to if there are no edges.
        config: Settings file, as `akgnn init` writes one.
        split: Which nodes train, validate and test, as in `load_dataset` or `load_tables`.
        split_seed: Seed of a random split.
        features: How features are prepared: `auto`, `raw` or `row-normalised`.
        direction: Whether a directed graph is made undirected (`symmetrised`) or `kept`.
        model: Name of the model; `auto` tries a few and keeps the best.
        preset: Name of its settings. If not given, `paper` on the paper's graphs and generated
            ones. On other graphs, and on one's own tables, validation compares a few; see `vote`.
        kernel: Kernel of akgnn: `paper`, `smooth` or `signed`.
        settings: Settings of the preset to change, by name.
        seed: Seed of the initial weights and the dropout masks.
        seeds: Number of runs, with the seeds from `seed` on.
        ensemble: Number of models, with the seeds from `seed` on, whose mean probabilities are
            the answer of one run. Validation chooses the preset with the first.
        vote: Whether the presets that validation compares vote, with the shares that suit the
            validation nodes best; False keeps the best alone.
        folds: Number of folds of a cross-validation.
        device: `auto`, `cpu`, `cuda` or `cuda:1`.
        data_root: Folder of data sets that do not come with the package.
        out: Folder to keep the run in; several runs are kept in `seed-0`, … or `fold-0`, … there.
        resume: Whether to go on with the run in `out`, or return its result if it has finished.
        checkpoint_seconds: Seconds between two snapshots of the training in `out`.
        force: Whether to train even if the estimated memory does not suffice.
        track: Trackers to write every epoch for: `tensorboard` or `mlflow`, each perhaps followed
            by `:FOLDER`.
        parts: Folder of parts, as `akgnn partition` writes it, in place of a data set or tables.
        processes: Number of processes of this machine that train on the parts.
        mesh: How processes share the work: groups of nodes x slices of channels, such as `2x2`.
        parts_at_once: Number of parts in memory at a time, the others in files.
        timeout: Seconds of silence after which a process counts as gone.
        callbacks: Callbacks of every epoch, with the index of the model; they may stop the
            training. From Python alone.
    """

    dataset: str | None = _option(
        DATA, "Data set; `akgnn datasets` lists them.  [cora]", completes="datasets"
    )
    _: KW_ONLY
    nodes: Any = _option(TABLES, "File of nodes: CSV, TSV, Parquet, JSON lines.", kind=Path)
    edges: Any = _option(
        TABLES,
        "File of edges; repeatable.  [each row to its nearest rows]",
        kind=list[Path],
        metavar="<path>",
    )
    label: str | None = _option(TABLES, "Column of classes, empty where unknown.  [label]")
    id: str | None = _option(TABLES, "Column of ids.  [id, else the first]")
    source: str | None = _option(TABLES, "Column where an edge starts.  [the first]")
    target: str | None = _option(TABLES, "Column where it ends.  [the second]")
    weight: str | None = _option(TABLES, "Column of edge weights.  [all weigh 1]")
    columns: str | None = _option(TABLES, "Feature columns, such as 'age,word_*,!word_the'.  [all]")
    prepare: str | None = _option(
        TABLES, "auto prepares columns by what they are; plain takes them as is.  [auto]"
    )
    standardise: bool | None = _option(
        TABLES, "Scale all numbers to mean 0, standard deviation 1.", flag="standardise"
    )
    missing: str | None = _option(TABLES, "Missing values: fill or refuse.  [fill]")
    unknown_ids: str | None = _option(
        TABLES, "Edges to ids without a node: refuse or drop.  [refuse]"
    )
    neighbours: int | None = _option(
        TABLES, "Nearest rows that each is linked to, without `edges`.  [10]"
    )
    config: Path | str | None = _option(MODEL, "Settings file; `akgnn init` writes one.", kind=Path)
    split: str | None = _option(
        DATA,
        "public, public-3, 20-per-class, 60/20/20, fold-0-of-5, or a column of your nodes.  "
        "[the data set's own; 60/20/20]",
    )
    split_seed: int | None = _option(DATA, "Seed of a random split.  [0]")
    features: str | None = _option(DATA, "auto, raw or row-normalised.  [auto]")
    direction: str | None = _option(
        DATA, "symmetrised, or kept: the data's own directions.  [symmetrised]"
    )
    model: str | None = _option(
        MODEL,
        "Model, or auto to try a few; `akgnn models` lists them.  [akgnn]",
        completes="models",
    )
    preset: str | None = _option(
        MODEL, "Settings by name.  [paper; any-graph for your own tables]", completes="presets"
    )
    kernel: str | None = _option(MODEL, "Kernel of akgnn: paper, smooth or signed.")
    settings: Mapping[str, Any] | None = _option(
        MODEL,
        "Change one setting of the preset; repeatable.",
        flag="set",
        kind=list[str],
        metavar="NAME=VALUE",
    )
    seed: int | None = _option(TRAINING, "Seed of the initial weights and dropout.  [0]")
    seeds: int | None = _option(TRAINING, "Train several seeds, from `seed` on, side by side.")
    ensemble: int | None = _option(
        TRAINING, "Train several seeds, from `seed` on, that vote as one model.  [1]"
    )
    vote: bool = _option(
        TRAINING, "Keep only the best preset instead of averaging.", True, flag="no-vote"
    )
    folds: int | None = _option(
        TRAINING, "Cross-validate: test on each of several parts of the labelled nodes in turn."
    )
    device: str = _option(TRAINING, "auto, cpu, cuda or cuda:1.", AUTO)
    data_root: Path | str | None = _option(
        DATA, "Folder of other data sets.  [$AKGNN_DATA]", kind=Path
    )
    out: Path | str | None = _option(
        OUTPUT, "Folder to keep the run in; seed-0, … or fold-0, … of several.", kind=Path
    )
    resume: bool = _option(OUTPUT, "Go on with the run in `out`.", False, flag="resume")
    checkpoint_seconds: float = _option(
        OUTPUT, "Seconds between two snapshots of the training in `out`.", 5.0
    )
    force: bool = _option(
        TRAINING, "Train even if the estimated memory does not suffice.", False, flag="force"
    )
    track: Sequence[str] = _option(
        OUTPUT,
        "Write every epoch for tensorboard or mlflow too, into a local folder; repeatable.",
        (),
        kind=list[str],
        metavar="TRACKER[:FOLDER]",
    )
    parts: Path | str | None = _option(
        DATA,
        "Folder of parts, of `akgnn partition`, in place of a data set or tables.",
        kind=Path,
    )
    processes: int | None = _option(
        TRAINING, "Number of processes of this machine that train on `parts`.  [1]"
    )
    mesh: str | None = _option(
        TRAINING,
        "How `processes` share the work: groups of nodes x slices of channels, such as 2x2.  "
        "[what `akgnn plan` chooses]",
        metavar="NODESxCHANNELS",
    )
    parts_at_once: int | None = _option(
        TRAINING, "Number of `parts` in memory at a time, the others in files.  [all]"
    )
    timeout: float = _option(
        TRAINING, "Seconds of silence after which one of several processes counts as gone.", 50.0
    )
    callbacks: Sequence["Callback"] = ()

    def given(self) -> list["Field[Any]"]:
        """The options that differ from their defaults."""
        return [each for each in fields(self) if _differs(getattr(self, each.name), each.default)]

    def check(self) -> None:
        """Refuse numbers out of range, and options that cannot be combined.

        Raises:
            SettingsError: Some are.
        """
        if not isinstance(self.dataset, str | None):
            raise SettingsError(
                f"`dataset` must be the name of a data set such as 'cora', got "
                f"{type(self.dataset).__name__}; pass your own tables, paths or DataFrames, as "
                "`nodes` and `edges`."
            )
        _check_kind("settings", self.settings, Mapping, "a dictionary of settings by name")
        _check_kind("callbacks", self.callbacks, list | tuple, "a list of Callback")
        _check_kind("checkpoint_seconds", self.checkpoint_seconds, int | float, "a number")
        if self.resume and self.out is None:
            raise SettingsError("`resume` needs `out`, the folder of the run to go on with.")
        check_range("seeds", self.seeds, 1, MOST_RUNS)
        check_range("processes", self.processes, 1, _MOST_PROCESSES)
        if self.folds is not None:
            self._check_folds()
        if not self.checkpoint_seconds >= 0:
            raise SettingsError(
                f"`checkpoint_seconds` must be at least 0, got {self.checkpoint_seconds}."
            )
        if self.kernel is not None and self.model not in (None, "akgnn"):
            raise SettingsError(
                f"`kernel` goes with the model akgnn; {self.model} has no kernel to choose."
            )
        if self.ensemble is not None and self.ensemble > 1:
            self.check_ensemble()
        self._check_parts()

    def check_ensemble(self) -> None:
        """Refuse an ensemble of several runs, also if a settings file asks for it."""
        for name in ("seeds", "folds"):
            if getattr(self, name) is not None:
                raise SettingsError(f"`ensemble` and `{name}` cannot be combined; choose one.")

    def _check_folds(self) -> None:
        check_range("folds", self.folds, 2, _MOST_FOLDS)
        if self.split is not None:
            raise SettingsError(
                "`folds` draws its own splits and cannot be combined with `split`; `split_seed` "
                "draws others."
            )
        if self.seeds is not None:
            raise SettingsError("`folds` and `seeds` cannot be combined; choose one of them.")
        if self.model == AUTO:
            raise SettingsError(
                "`model='auto'` chooses by one split, whose nodes other folds test; name a model "
                "with `folds`."
            )

    def _check_parts(self) -> None:
        names = [each.name for each in self.given()]
        if self.parts is None:
            for name in names:
                if name in _OF_PARTS:
                    raise SettingsError(
                        f"`{name}` needs `parts`, a folder that `akgnn partition` wrote."
                    )
            return
        for name in names:
            if name not in _WITH_PARTS:
                name = "no_vote" if name == "vote" else name
                raise SettingsError(
                    f"`{name}` cannot be combined with `parts`: the folder already fixes the data "
                    "and the split, and trains one run."
                )
        if self.model == AUTO:
            raise SettingsError("`parts` trains one model; `model='auto'` tries several. Name one.")
        if not _LEAST_TIMEOUT <= self.timeout <= _MOST_TIMEOUT:
            raise SettingsError(
                f"`timeout` must be from {_LEAST_TIMEOUT} to {_MOST_TIMEOUT:,} seconds, got "
                f"{self.timeout:g}."
            )

    @property
    def several(self) -> range | None:
        """The seeds of several runs; None if there is one."""
        first = self.seed or 0
        return None if self.seeds is None else range(first, first + self.seeds)

    def changes(self) -> dict[str, Any]:
        """The settings of the preset to change."""
        kernel = {} if self.kernel is None else {"kernel": self.kernel}
        return {**kernel, **(self.settings or {})}

    def words(self) -> list[str]:
        """The arguments of `akgnn train` that ask for the same."""
        words: list[str] = []
        for each in self.given():
            value = getattr(self, each.name)
            flag = flag_of(each)
            if isinstance(value, bool):
                words.append(flag)
            elif isinstance(value, Mapping):
                for name, setting in value.items():
                    words += [flag, f"{name}={setting}"]
            else:
                for item in value if isinstance(value, list | tuple) else [value]:
                    words += [flag, str(item)]
        return words

    def values(self, names: Sequence[str]) -> dict[str, Any]:
        """The options of these names that were given."""
        return {each.name: getattr(self, each.name) for each in self.given() if each.name in names}


def flag_of(item: "Field[Any]") -> str:
    """The flag of an option on the command line."""
    return f"--{item.metadata.get('flag') or item.name.replace('_', '-')}"


def check_range(name: str, value: int | None, low: int, high: int) -> None:
    """Refuse a number outside a range; None is no number."""
    if value is not None and not low <= value <= high:
        raise SettingsError(f"`{name}` must be from {low} to {high}, got {value}.")


def _check_kind(name: str, value: object, kind: Any, words: str) -> None:
    if not isinstance(value, kind | None):
        raise SettingsError(f"{name} must be {words}, got {type(value).__name__}.")


def _differs(value: Any, default: Any) -> bool:
    """Whether an option was given. DataFrames compare cell by cell, so types go first."""
    if value is None or (isinstance(value, list | tuple | dict) and not len(value)):
        return False
    return type(value) is not type(default) or bool(value != default)
