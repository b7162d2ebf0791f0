"""A process that dies at a chosen step of its writing: every write of index, records and cache is a step, before and after."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from bythebook.index.vectors import VectorIndex
from tests.support.library import Library

INDEX_WRITES = frozenset({"create", "save_manifest", "drop", "replace", "remove_book", "settle"})
RECORD_WRITES = frozenset({"save_book", "save_records", "invalidate", "reserve", "release"})


class Killed(BaseException):
    """Nothing may catch it, as nothing catches kill -9."""


class Steps:
    """Counts the steps, and dies at number `fatal`."""

    def __init__(self, fatal: int | None = None) -> None:
        self.taken = 0
        self._fatal = fatal

    def step(self) -> None:
        if self.taken == self._fatal:
            raise Killed
        self.taken += 1


class Mortal:
    """Stands before a part and lets everything through; a write counts before it begins and after it is done."""

    def __init__(self, part: object, writes: frozenset[str], steps: Steps) -> None:
        self._part = part
        self._writes = writes
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        return self._counted(found) if name in self._writes else found

    def _counted(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def counted(*given: Any, **named: Any) -> Any:
            self._steps.step()
            answer = await call(*given, **named)
            self._steps.step()
            return answer

        return counted


def mortal(library: Library, steps: Steps) -> Library:
    index: VectorIndex = Mortal(library.index, INDEX_WRITES, steps)
    return replace(library, index=index, records=Mortal(library.records, RECORD_WRITES, steps))  # type: ignore[arg-type]
