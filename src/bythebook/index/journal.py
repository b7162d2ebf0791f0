"""The redo journal: what a replacement is about to do, written down whole before any of it is done.

A process that dies half-way leaves the journal behind, and the next one does all of it again; doing it twice is doing it
once. A journal that was not written whole was never renamed into place, and nothing of it was done.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bythebook.index.payload import to_payload
from bythebook.index.vectors import Replacement


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPoint:
    """A chunk as it goes to an engine and into the journal. `dense` holds little-endian float32 in base64."""

    id: str
    payload: dict[str, Any]
    dense: str
    term_ids: list[int]
    term_weights: list[float]

    @property
    def embedding(self) -> NDArray[np.float32]:
        return np.frombuffer(base64.b64decode(self.dense), dtype="<f4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Redo:
    """Everything `book_id` has of `source_files` becomes `points`."""

    book_id: str
    source_files: list[str]
    points: list[StoredPoint]


def redo(book_id: str, replacements: Sequence[Replacement]) -> Redo:
    return Redo(
        book_id=book_id,
        source_files=[replacement.source_file for replacement in replacements],
        points=[
            StoredPoint(
                id=indexed.chunk.id,
                payload=to_payload(indexed),
                dense=base64.b64encode(np.asarray(indexed.embedding, dtype="<f4").tobytes()).decode("ascii"),
                term_ids=list(indexed.terms.ids) if indexed.terms else [],
                term_weights=list(indexed.terms.weights) if indexed.terms else [],
            )
            for replacement in replacements
            for indexed in replacement.chunks
        ],
    )


def write_journal(path: Path, planned: Redo) -> None:
    write_whole(path, json.dumps(asdict(planned)))


def read_journal(path: Path) -> Redo:
    """Raises ValueError, KeyError or TypeError for a file that is no journal."""
    fields = json.loads(path.read_text(encoding="utf-8"))
    points = [StoredPoint(**point) for point in fields.pop("points")]
    return Redo(points=points, **fields)


def write_whole(path: Path, text: str) -> None:
    """The file holds all of the text or what it held before, also after a power cut."""
    draft = path.with_name(path.name + ".tmp")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def remove_whole(path: Path) -> None:
    path.unlink()
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # a folder cannot be opened there, and its entries are journalled by the file system
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
