import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from akgnn.arrays import describe
from akgnn.codec import to_json
from akgnn.data.catalogue import load_dataset
from akgnn.distributed.folder import FolderParts, open_parts
from akgnn.distributed.group import Group
from akgnn.distributed.manifest import MANIFEST, manifest_text
from akgnn.distributed.parts import content_of, cut_in_memory
from akgnn.distributed.trainer import fit_parts, own_rows
from akgnn.distributed.write import write_parts
from akgnn.errors import AkgnnError, DataError, RunFolderError
from akgnn.models.adaptive_network import AKGNNSettings
from akgnn.models.registry import build_model
from akgnn.training.settings import TrainSettings
from parts_data import KINDS, assert_same_part, small_data, some_owner


def write(folder: Path, kind: str = "dense", seed: int = 0) -> FolderParts:
    owner = some_owner(40)
    owner[-1 - seed] = (owner[-1 - seed] + 1) % 3 if seed else owner[-1]
    return write_parts(folder, small_data(kind), owner, cut="a test's")


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_holds_what_is_cut_in_memory(kind: str, tmp_path: Path):
    written = write(tmp_path / "parts", kind)
    parts = open_parts(tmp_path / "parts")
    memory = cut_in_memory(small_data(kind), some_owner(40))
    assert parts.facts == memory.facts == written.facts
    assert parts.costs == written.costs
    assert parts.num_parts == memory.num_parts == 4
    for index in range(4):
        assert_same_part(parts.part(index), memory.part(index))


@pytest.mark.parametrize("name", ["cora", "pubmed"])
def test_published_graphs_come_back(name: str, tmp_path: Path):
    data = load_dataset(name)
    owner = torch.arange(data.graph.num_nodes) % 5
    write_parts(tmp_path / "parts", data, owner, cut="a test's")
    parts, memory = open_parts(tmp_path / "parts"), cut_in_memory(data, owner)
    assert parts.facts == memory.facts
    for index in range(5):
        assert_same_part(parts.part(index), memory.part(index))


def test_arrays_are_memory_maps_that_numpy_reads_too(tmp_path: Path):
    write(tmp_path / "parts")
    part = open_parts(tmp_path / "parts").part(0)
    file = tmp_path / "parts" / "part-00000" / "x.npy"
    assert np.array_equal(np.load(file, allow_pickle=False), part.x)
    assert str(file) in Path("/proc/self/maps").read_text()


def test_files_are_named_by_what_memory_would_hold(tmp_path: Path):
    parts = write(tmp_path / "parts")
    part = parts.part(1)
    assert parts.manifest.parts[1].arrays["col"] == describe(part.col)


def test_a_folder_that_is_there_is_refused(tmp_path: Path):
    write(tmp_path / "parts")
    with pytest.raises(RunFolderError, match="is there already"):
        write(tmp_path / "parts")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunFolderError, match="is there already"):
        write(tmp_path / "empty")


def test_an_error_leaves_no_folder(tmp_path: Path):
    def fail(index: int) -> None:
        if index == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_parts(tmp_path / "parts", small_data("dense"), some_owner(40), cut="x", on_part=fail)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_writer_left_is_removed(tmp_path: Path):
    from akgnn.files import _MACHINE

    left = tmp_path / f".tmp-{_MACHINE}-{2**22 + 1}-0"
    (left / "part-00000").mkdir(parents=True)
    write(tmp_path / "parts")
    assert not left.exists()


def files_of(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())


def assert_refused(folder: Path, match: str | None = None) -> str:
    """One clear line, whoever opens the folder."""
    with pytest.raises(AkgnnError, match=match) as caught:
        open_parts(folder)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    return message


@pytest.mark.parametrize("kind", ["sparse", "weighted and directed"])
def test_a_flipped_bit_in_any_file_is_found(kind: str, tmp_path: Path):
    write(tmp_path / "parts", kind)
    draw = random.Random(0)
    for file in files_of(tmp_path / "parts"):
        content = bytearray(file.read_bytes())
        # In the header, at the end, and somewhere.
        for place in {0, len(content) - 1, draw.randrange(len(content))}:
            changed = bytearray(content)
            changed[place] ^= 1 << draw.randrange(7)
            file.write_bytes(changed)
            message = assert_refused(tmp_path / "parts")
            assert file.name in message
        file.write_bytes(content)
    open_parts(tmp_path / "parts")


def test_missing_and_cut_off_files_are_named(tmp_path: Path):
    folder = tmp_path / "parts"
    write(folder)
    for file in files_of(folder):
        content = file.read_bytes()
        file.unlink()
        assert_refused(folder, "missing|no folder of parts")
        file.write_bytes(content[:-3])
        assert_refused(folder, "bytes, but|is damaged")
        file.write_bytes(content)
    shutil.rmtree(folder / "part-00002")
    assert_refused(folder, "part-00002.*is missing")
    with pytest.raises(DataError, match=r"part-00002.*is missing"):
        open_parts(folder, check=False)


def test_a_part_of_another_cut_is_found(tmp_path: Path):
    one, other = write(tmp_path / "one"), write(tmp_path / "other", seed=1)
    assert one.facts.content != other.facts.content
    for index in range(4):
        name = f"part-{index:05d}"
        same = one.manifest.parts[index] == other.manifest.parts[index]
        shutil.move(tmp_path / "one" / name, tmp_path / "kept")
        shutil.copytree(tmp_path / "other" / name, tmp_path / "one" / name)
        if not same:
            assert_refused(tmp_path / "one", f"{name}.*of another cut")
        shutil.rmtree(tmp_path / "one" / name)
        shutil.move(tmp_path / "kept", tmp_path / "one" / name)
    open_parts(tmp_path / "one")


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path):
    folder = tmp_path / "parts"
    write(folder)
    (folder / "part-00001").rename(tmp_path / "outside")
    (folder / "part-00001").symlink_to(tmp_path / "outside")
    assert_refused(folder, "part-00001.*no plain file")
    (folder / "part-00001").unlink()
    (tmp_path / "outside").rename(folder / "part-00001")
    (folder / "part-00001" / "y.npy").rename(tmp_path / "y.npy")
    (folder / "part-00001" / "y.npy").symlink_to(tmp_path / "y.npy")
    assert_refused(folder, r"y\.npy.*no plain file")


@pytest.mark.parametrize("version", [0, 2, "1", None, [1]])
def test_another_version_is_named(version: Any, tmp_path: Path):
    write(tmp_path / "parts")
    change_manifest(tmp_path / "parts", lambda content: content.update(version=version))
    assert_refused(tmp_path / "parts", "is of version .* reads version 1")


def change_manifest(
    folder: Path, change: Callable[[dict[str, Any]], Any], *, sign: bool = False
) -> None:
    """Change the manifest; with `sign` its checksum fits again, as if it had been written so."""
    file = folder / MANIFEST
    content = json.loads(file.read_text())
    change(content)
    if sign:
        rest = {n: v for n, v in content.items() if n not in ("format", "version", "checksum")}
        file.write_text(manifest_text(rest))
    else:
        file.write_text(json.dumps(content))


def places(content: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value in JSON."""
    items: Any = ()
    if isinstance(content, dict):
        items = content.items()
    elif isinstance(content, list):
        items = enumerate(content)
    ways = [above] if above else []
    for key, value in items:
        ways += places(value, (*above, key))
    return ways


def mutate(content: dict[str, Any], draw: random.Random) -> None:
    """One value changed, missing, of another type, huge, or a path that leads elsewhere."""
    *above, last = draw.choice(places(content))
    inside: Any = content
    for key in above:
        inside = inside[key]
    odd = [
        None, True, False, -1, 0, 1, 10**30, 10**4000, 1e308, -0.0, "", "../x", "/etc/passwd",
        "..\\x", "\0", "\x1b[2J", "x" * 5000, [], {}, [[]], {"a": {}}, "<O", "|O", "<f4", 2**63,
        [2**62], "0" * 64,
    ]  # fmt: skip
    kind = draw.randrange(4)
    if kind == 0:
        del inside[last]
    elif kind == 1 and isinstance(inside, dict):
        inside[draw.choice(["../x", "/etc/passwd", "x", "", "y/../../y"])] = inside.pop(last)
    elif kind == 2 and isinstance(inside[last], int) and not isinstance(inside[last], bool):
        inside[last] += draw.choice([-1, 1, 7, 2**31, 2**40])
    else:
        inside[last] = draw.choice(odd)


@pytest.mark.parametrize("sign", [False, True])
@pytest.mark.parametrize("kind", ["sparse", "weighted and directed"])
def test_mutated_manifests_are_refused_in_one_line(kind: str, sign: bool, tmp_path: Path):
    folder = tmp_path / "parts"
    write(folder, kind)
    original = (folder / MANIFEST).read_text()
    whole = to_json(open_parts(folder).facts)
    draw = random.Random(f"{kind} {sign}")
    messages = []
    for _ in range(200):
        (folder / MANIFEST).write_text(original)
        change_manifest(folder, lambda content: mutate(content, draw), sign=sign)
        try:
            opened = open_parts(folder)
        except AkgnnError as error:
            messages.append(str(error))
            continue
        # What says nothing of the graph may be anything, if the checksum was made to fit.
        facts = to_json(opened.facts)
        changed = [name for name in facts if facts[name] != whole[name]]
        assert set(changed) <= {"name", "source", "recipe"}
        assert sign or not changed
    assert len(messages) >= (100 if sign else 199)
    assert all(message.isprintable() and len(message) < 700 for message in messages)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", "1", "{", "[" * 100_000, '{"format": "akgnn-parts"}', "NaN"]
)
def test_other_files_are_no_manifest(text: str, tmp_path: Path):
    write(tmp_path / "parts")
    (tmp_path / "parts" / MANIFEST).write_text(text)
    assert_refused(tmp_path / "parts", "is damaged|is of version")


def test_what_is_no_folder_of_parts_is_said(tmp_path: Path):
    assert_refused(tmp_path / "nothing", "is no folder of parts")
    assert_refused(tmp_path, r"it has no parts\.json")
    (tmp_path / "file").write_text("x")
    assert_refused(tmp_path / "file", "is no folder of parts")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("col", lambda a: a.fill(40), "col mentions a node outside"),
        ("col", lambda a: a.fill(-1), "col mentions a node outside"),
        ("rowptr", lambda a: a.__setitem__(-1, 10**9), "rowptr does not rise"),
        ("rowptr", lambda a: a.__setitem__(1, 10**9), "rowptr does not rise"),
        ("ids", lambda a: a.fill(0), "ids do not rise"),
        ("ids", lambda a: a.__setitem__(-1, 40), "ids do not rise, or lie outside"),
        ("y", lambda a: a.fill(3), "labels are of unknown classes"),
        ("y", lambda a: a.fill(-1), "have no label"),
        ("train", lambda a: a.__setitem__(0, 99), "train rows"),
        ("degree", lambda a: a.fill(np.nan), "a degree is not finite"),
        ("x", lambda a: a.fill(np.inf), "a feature is not finite"),
        ("value", lambda a: a.fill(np.inf), "a weight is not finite"),
        ("transpose_col", lambda a: a.fill(40), "col mentions a node outside"),
    ],
)
def test_arrays_that_would_index_outside_memory_are_refused(
    name: str, change: Callable[[Any], None], message: str, tmp_path: Path, monkeypatch: Any
):
    """A folder whose checksums fit, as if it had been written on purpose."""
    from akgnn.distributed import write as module

    wanted = module.arrays_of

    def spoilt(part: Any) -> Any:
        arrays = {key: value.clone() for key, value in wanted(part).items()}
        if part.index == 1:
            change(arrays[name].numpy())
        return arrays

    monkeypatch.setattr(module, "arrays_of", spoilt)
    write(tmp_path / "parts", "weighted and directed")
    assert_refused(tmp_path / "parts", message)


@pytest.mark.parametrize("kind", ["dense", "weighted and directed"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_a_part_whose_features_are_of_another_type_is_named(
    kind: str, dtype: torch.dtype, tmp_path: Path
):
    """Signed, as if it had been written on purpose."""
    folder = tmp_path / "parts"
    parts = write(folder, kind)
    x = torch.as_tensor(parts.part(2).x).to(dtype)
    file = describe(x)
    (folder / "part-00002" / "x.npy").write_bytes(file.header + x.numpy().tobytes())

    def change(content: dict[str, Any]) -> None:
        content["parts"][2]["arrays"]["x"] = to_json(file)
        digests = [{n: f["sha256"] for n, f in p["arrays"].items()} for p in content["parts"]]
        content["facts"]["content"] = content_of(parts.facts, digests)

    change_manifest(folder, change, sign=True)
    message = assert_refused(folder, f"array x of part 2 holds {file.dtype}, but <f4 in part 0")
    with pytest.raises(DataError) as caught:
        open_parts(folder, check=False)
    assert str(caught.value) == message


def test_another_part_than_there_are_is_no_part(tmp_path: Path):
    parts = write(tmp_path / "parts")
    with pytest.raises(IndexError, match="has the parts 0 to 3, not 4"):
        parts.part(4)


def test_numbers_that_numpy_lacks_are_refused(tmp_path: Path):
    from dataclasses import replace

    data = small_data("dense")
    assert isinstance(data.x, torch.Tensor)
    with pytest.raises(DataError, match="bfloat16; take float32"):
        write_parts(tmp_path / "parts", replace(data, x=data.x.bfloat16()), some_owner(40), cut="x")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_cannot_be_printed_is_escaped(tmp_path: Path):
    from dataclasses import replace

    data = replace(small_data("dense"), name="a\x1b[2J\nb", source={"file": "x\ty"})
    write_parts(tmp_path / "parts", data, some_owner(40), cut="x")
    assert open_parts(tmp_path / "parts").facts.name.isprintable()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_parts", [1, 4])
def test_training_on_a_folder_ends_in_the_bits_of_training_in_memory(
    kind: str, num_parts: int, tmp_path: Path
):
    data = small_data(kind)
    owner = some_owner(40) if num_parts > 1 else torch.zeros(40, dtype=torch.int64)
    write_parts(tmp_path / "parts", data, owner, cut="x")
    before = {file: file.read_bytes() for file in files_of(tmp_path / "parts")}
    weights = []
    for parts in (cut_in_memory(data, owner), open_parts(tmp_path / "parts")):
        settings = AKGNNSettings(hidden_channels=8, num_layers=2, normalisation="row")
        model = build_model("akgnn", settings, data.num_features, data.num_classes, seed=0)
        fit_parts(model, own_rows(parts, Group()), TrainSettings(epochs=4))
        weights.append(list(model.parameters()))
    assert all(torch.equal(one, other) for one, other in zip(*weights, strict=True))
    assert {file: file.read_bytes() for file in files_of(tmp_path / "parts")} == before
