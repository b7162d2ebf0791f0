"""The redo journal: what a swap of lessons is about to do, written completely before any of it is done.

A process that dies half-way leaves the journal behind, and the next one does all of it again; every step may be done twice. A
journal that was not written completely was never renamed into place, and nothing of it was done.
"""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import numpy as np

from bythebook.index.payload import StoredPoint, Swap, decoding


def write_journal(path: Path, planned: Swap) -> None:
    """Writes embeddings as base64: as decimal numbers they would be four times as long."""
    points = [
        {
            "id": point.id,
            "payload": point.payload,
            "dense": base64.b64encode(np.array(point.dense, dtype="<f4").tobytes()).decode("ascii"),
            "term_ids": point.term_ids,
            "term_weights": point.term_weights,
        }
        for point in planned.points
    ]
    write_whole(path, json.dumps({"book_id": planned.book_id, "source_files": planned.source_files, "points": points}))


def read_journal(path: Path) -> Swap:
    with decoding("the journal"):
        fields = json.loads(path.read_text(encoding="utf-8"))
        points = []
        for point in fields["points"]:
            dense = np.frombuffer(base64.b64decode(point.pop("dense")), dtype="<f4").tolist()
            points.append(StoredPoint(dense=dense, **point))
        return Swap(book_id=fields["book_id"], source_files=fields["source_files"], points=points)


def write_whole(path: Path, text: str) -> None:
    """Writes a file so that it holds either all of the text or what it held before, even after a power cut."""
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
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
