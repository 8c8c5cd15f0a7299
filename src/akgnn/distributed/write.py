"""Writing a folder of parts, a part at a time and the whole in one step; or only looking at it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from akgnn.arrays import KINDS, write_array
from akgnn.codec import to_json
from akgnn.data.node_data import NodeData
from akgnn.distributed.costs import CutCosts, Survey
from akgnn.distributed.folder import FolderParts, part_folder
from akgnn.distributed.manifest import (
    MANIFEST,
    Manifest,
    PartFiles,
    manifest_text,
    read_manifest,
)
from akgnn.distributed.parts import arrays_of, content_of, facts_of, iterate_parts
from akgnn.errors import DataError
from akgnn.files import new_folder, write_file
from akgnn.version import __version__


def costs_of(data: NodeData, owner: Tensor, *, cut: str) -> CutCosts:
    """What a cut comes to, with nothing written; as in `write_parts`."""
    survey = Survey(facts_of(data, owner).starts)
    for part in iterate_parts(data, owner):
        survey.add(part)
    return survey.costs(cut)


def write_parts(
    folder: Path,
    data: NodeData,
    owner: Tensor,
    *,
    cut: str,
    on_part: Callable[[int], None] = lambda index: None,
) -> FolderParts:
    """Write the parts of a graph to a new folder, which appears whole or not at all.

    Args:
        folder: Where to; nothing may be there.
        data: The graph; its arrays may be memory maps.
        owner: The part of each node, as in `cut_in_memory`.
        cut: Name of the cut.
        on_part: Told of every part that was written.

    Raises:
        RunFolderError: Something is there, or the folder cannot be written.
        DataError: The data hold numbers of a type that files do not.
    """
    facts = facts_of(data, owner)
    survey = Survey(facts.starts)
    files: list[PartFiles] = []
    with new_folder(folder) as temporary:
        for part in iterate_parts(data, owner):
            (temporary / part_folder(part.index)).mkdir()
            written = {}
            for name, values in arrays_of(part).items():
                if values.dtype not in KINDS:
                    raise DataError(f"Parts cannot hold {values.dtype}; take float32.")
                file = temporary / part_folder(part.index) / f"{name}.npy"
                written[name] = write_array(file, values)
            files.append(PartFiles(written))
            survey.add(part)
            on_part(part.index)
        digests = [{name: file.sha256 for name, file in part.arrays.items()} for part in files]
        facts = replace(facts, content=content_of(facts, digests))
        versions = {"akgnn": __version__, "numpy": np.__version__, "torch": torch.__version__}
        manifest = Manifest(facts, survey.costs(cut), tuple(files), versions)
        write_file(temporary / MANIFEST, manifest_text(to_json(manifest)).encode())
        read_manifest(temporary)
    return FolderParts(folder, manifest)
