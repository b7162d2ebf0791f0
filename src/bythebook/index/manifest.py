"""The manifest of a collection: what its chunks and vectors were made with. A program that does not match it refuses to search it
and says what to do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from bythebook.books.model import CHUNKER_VERSION
from bythebook.errors import Mismatch, StorageFailure
from bythebook.index.lexical import LEXICAL_VERSION
from bythebook.index.state import IngestionState

TIMES = ("last_full_ingest", "last_incremental_update")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a collection was made with, and what it serves; there is one per collection. `books` are those served from it and
    `calibration` their fits, each under its book_id, so that reading the index takes nothing else."""

    embedder: str
    dimension: int
    chunker_version: int
    lexical_version: int
    calibration: Mapping[str, Any] = field(default_factory=dict)
    books: Mapping[str, Any] = field(default_factory=dict)

    def serving(self, state: IngestionState) -> Manifest:
        return replace(self, books={**self.books, state.book_id: _plain(state)})

    def fitted(self, book_id: str, fit: Mapping[str, Any]) -> Manifest:
        return replace(self, calibration={**self.calibration, book_id: fit})

    def without(self, book_id: str) -> Manifest:
        books, fits = ({id: one for id, one in some.items() if id != book_id} for some in (self.books, self.calibration))
        return replace(self, books=books, calibration=fits)

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, text: str, where: object = "use") -> Manifest:
        stored = json.loads(text)
        if not isinstance(stored, dict):
            raise ValueError("it is no object")
        if unknown := sorted(stored.keys() - {one.name for one in fields(cls)}):
            raise Mismatch(
                f"The manifest of the index in {where} has '{unknown[0]}', which this version of By the Book does not know: "
                "a newer one made it. Upgrade By the Book, or use another data folder."
            )
        return cls(**stored)

    def same_index(self, other: Manifest) -> bool:
        """Whether chunks made under one manifest may be stored beside chunks made under the other."""
        return self._made_by == other._made_by

    def require(self, embedder: str, *, book_id: str) -> None:
        """Raises Mismatch unless this program can use the index with the embedder of that name. The dimension is checked where a
        vector is used (`payload.check_dimension`): here a remote embedder would have to be asked for it."""
        wanted = wanted_manifest(embedder, self.dimension)
        if self.same_index(wanted):
            return
        if self.chunker_version > wanted.chunker_version or self.lexical_version > wanted.lexical_version:
            raise Mismatch(
                f"The book '{book_id}' was indexed by a newer version of By the Book ({self._described}). Upgrade By the Book; "
                "nothing was changed."
            )
        raise Mismatch(
            f"The book '{book_id}' was indexed by {self._described}, but this program uses {wanted._described}. "
            + (
                "Rebuild it: bythebook upgrade"
                if self.embedder == embedder
                else "Configure its embedder again, or rebuild the index: bythebook ingest FOLDER --mode recreate"
            )
        )

    @property
    def _made_by(self) -> tuple[str, int, int, int]:
        return self.embedder, self.dimension, self.chunker_version, self.lexical_version

    @property
    def _described(self) -> str:
        return f"{self.embedder} (chunker {self.chunker_version}, lexical {self.lexical_version})"


def served_books(collections: Mapping[str, Manifest]) -> dict[str, IngestionState]:
    """The state of each book, from the collection that serves it. A `recreate` that was killed while it switched may have left
    two; the newer one is complete."""
    states: dict[str, IngestionState] = {}
    for state in (_state(stored) for manifest in collections.values() for stored in manifest.books.values()):
        other = states.get(state.book_id)
        if other is None or state.last_ingested >= other.last_ingested:
            states[state.book_id] = state
    return dict(sorted(states.items()))


def manifest_of(state: IngestionState, collections: Mapping[str, Manifest]) -> Manifest:
    """The manifest of the book's collection, which may have gone since the state was read: the book was rebuilt or removed."""
    manifest = collections.get(state.collection_name)
    if manifest is None:
        raise StorageFailure(
            f"The index of '{state.book_id}' is gone, or was rebuilt while it was read. If it stays so, restore it from a "
            "backup, or rebuild it: bythebook ingest FOLDER --mode recreate"
        )
    return manifest


def _plain(state: IngestionState) -> dict[str, Any]:
    """The state without the options given at the command line, which only an ingestion needs."""
    values = {name: value for name, value in asdict(state).items() if name != "options"}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def _state(stored: Mapping[str, Any]) -> IngestionState:
    times = {name: datetime.fromisoformat(stored[name]) for name in TIMES if stored[name]}
    return IngestionState(**{**stored, **times})


def wanted_manifest(embedder: str, dimension: int) -> Manifest:
    """The manifest that this program writes for a new collection with the embedder of that name."""
    return Manifest(
        embedder=embedder,
        dimension=dimension,
        chunker_version=CHUNKER_VERSION,
        lexical_version=LEXICAL_VERSION,
    )
