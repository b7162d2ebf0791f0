"""What made an index. An index and a program that disagree about it must say so, never search nonsense."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from bythebook.errors import Mismatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One per collection. `calibration` holds one fit per book, under its book_id."""

    embedder: str
    dimension: int
    chunker_version: int
    lexical_version: int
    calibration: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        return cls(**json.loads(text))

    def same_index(self, other: Manifest) -> bool:
        """Whether chunks made under one can stand beside chunks made under the other."""
        return self._made_by == other._made_by

    def require(self, wanted: Manifest, *, book_id: str) -> None:
        """Raise unless a program that makes chunks as `wanted` says can use this index."""
        if self.same_index(wanted):
            return
        raise Mismatch(
            f"The book '{book_id}' was indexed by {self._described}, but this program uses {wanted._described}. "
            "Configure the former again, or build the index anew: bythebook ingest FOLDER --mode recreate"
        )

    @property
    def _made_by(self) -> tuple[str, int, int, int]:
        return self.embedder, self.dimension, self.chunker_version, self.lexical_version

    @property
    def _described(self) -> str:
        return f"{self.embedder} ({self.dimension} dimensions, chunker {self.chunker_version}, lexical {self.lexical_version})"
