"""Reads the files of a book. Files of other formats than Markdown become readings, made by the child process and stored under the
hash of the file and the reader's version, so that no file is parsed twice. Markdown is passed on as it is."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bythebook.books.discovery import SourceFile, file_hash, read_included, read_source, repository_of
from bythebook.books.formats.readers import Format, format_of, misplaced, read_file
from bythebook.books.included_lines import Expansion, MissingInclude, put_back
from bythebook.books.includes import HINT, IncludedFile, expand
from bythebook.books.lesson import decode
from bythebook.books.model import Failure, Reading, SourcePlace, pack_readings, unpack_readings
from bythebook.books.sandbox import Sandbox, SandboxCall, Unreadable, attempt
from bythebook.errors import InvalidBook

UNUSED_SECONDS = 90 * 24 * 3600.0
"""Readings that were not used for so long are removed when others are written."""
WITH_INCLUDES = "rst"
"""The format besides Markdown whose includes are resolved."""
INCLUDE_HINT = re.compile(HINT.pattern.encode(), re.MULTILINE)


class ReadingStore:
    """Readings on disk, under the hash of the file and the reader's name and version. Without a folder, only those of the last
    file are kept, in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._last: tuple[str, tuple[Reading, ...]] | None = None

    def get(self, path: str, digest: str, kind: Format) -> tuple[Reading, ...] | None:
        key = _key(path, digest, kind)
        if self._last and self._last[0] == key:
            return self._last[1]
        if self._folder is None:
            return None
        file = self._folder / key
        try:
            readings = unpack_readings(file.read_bytes())
            file.touch()
        except (OSError, ValueError):  # missing, or cut off by a full disk: the file is read again
            return None
        self._last = key, readings
        return readings

    def put(self, path: str, digest: str, kind: Format, readings: tuple[Reading, ...]) -> None:
        key = _key(path, digest, kind)
        self._last = key, readings
        if self._folder is None:
            return
        with suppress(OSError):  # a full disk is reported by the code that must write
            self._folder.mkdir(parents=True, exist_ok=True)
            unfinished = self._folder / f"{key}.tmp"
            unfinished.write_bytes(pack_readings(readings))
            unfinished.replace(self._folder / key)
            for old in self._folder.iterdir():
                if time.time() - old.stat().st_mtime > UNUSED_SECONDS:
                    old.unlink(missing_ok=True)


def _key(path: str, digest: str, kind: Format) -> str:
    """The name under which readings are stored. It includes the path, because a reading names its lessons by that."""
    return f"{file_hash(f'{path}:{digest}'.encode())[:40]}-{kind.name}-{kind.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLesson:
    """A lesson of a file that was read. `raw`: the bytes of a Markdown file, which are decoded when they are needed."""

    path: str
    file: str
    size: int
    file_hash: str
    read_by: str = ""
    reading: Reading | None = None
    raw: bytes = b""

    def text(self) -> Reading:
        return self.reading or Reading(source_file=self.path, file=self.file, text=decode(self.raw, self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class _FileRead:
    """A file with its readings, or the call that makes them. `expansion`: the file together with what it includes, if
    anything."""

    source: SourceFile
    digest: str
    kind: Format
    readings: tuple[Reading, ...] | SandboxCall[tuple[Reading, ...]]
    expansion: Expansion | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReader:
    """Reads the files of one book."""

    root: Path
    limit_bytes: int
    sandbox: Sandbox | None = None
    store: ReadingStore
    missing: list[MissingInclude] = field(default_factory=list)
    """Includes of lessons that could not be read."""

    def read(self, files: Sequence[SourceFile], failures: list[Failure]) -> Iterator[ReadLesson]:
        """Yields the lessons of these files in order. A file that cannot be read is a failure of its own."""
        found: list[ReadLesson | _FileRead] = []
        for file in files:
            try:
                found.append(self._found(file))
            except InvalidBook as error:
                failures.append(Failure(source_file=file.path, reason=str(error)))
        calls = [one.readings for one in found if isinstance(one, _FileRead)]
        given = self._run([call for call in calls if isinstance(call, SandboxCall)])
        for one in found:
            if isinstance(one, ReadLesson):
                yield one
                continue
            source, readings = one.source, one.readings
            if isinstance(readings, SandboxCall):
                outcome = next(given)
                if isinstance(outcome, Unreadable):
                    failures.append(failure_of(source.path, outcome))
                    continue
                readings = put_back(outcome, one.expansion) if one.expansion else outcome
                self.store.put(source.path, one.digest, one.kind, readings)
            characters = max(1, sum(len(each.text) for each in readings))
            for reading in readings:
                size = max(1, source.size * len(reading.text) // characters)
                yield ReadLesson(
                    path=reading.source_file,
                    file=source.path,
                    size=size,
                    file_hash=reading.digest,
                    read_by=one.kind.read_by,
                    reading=reading,
                )

    def again(self, path: str, file: str) -> ReadLesson:
        """Reads one lesson again that was read before and not kept. Raises InvalidBook where it has gone meanwhile."""
        failures: list[Failure] = []
        for lesson in self.read([SourceFile(path=file, size=1)], failures):
            if lesson.path == path:
                return lesson
        raise InvalidBook(failures[0].reason if failures else f"{path} vanished while the book was read; run it again.")

    def misplaced(self, file: str, pieces: Sequence[tuple[str, SourcePlace]]) -> list[int]:
        """The indexes of those pieces of text that do not stand at their places in the file; all of them where it cannot be
        read."""
        kind = format_of(file)
        raws = {file: read_source(self.root, file, limit_bytes=self.limit_bytes * (kind.largest_times if kind else 1))}
        for other in sorted({place.file for _, place in pieces} - {file}):
            found = read_included(self.root, repository_of(self.root), file, other, beside_root=True)
            raws |= {} if isinstance(found, str) else {other: found[1]}
        call = SandboxCall(
            call=partial(misplaced, kind, raws, pieces),
            characters=sum(map(len, raws.values())),
            seconds=kind.seconds if kind else None,
            most_bytes=kind.most_bytes if kind else None,
        )
        wrong = next(self.sandbox.run([call])) if self.sandbox else attempt(call.call)
        return [*range(len(pieces))] if isinstance(wrong, Unreadable) else wrong

    def _found(self, file: SourceFile) -> ReadLesson | _FileRead:
        kind = format_of(file.path)
        raw = read_source(self.root, file.path, limit_bytes=self.limit_bytes * (kind.largest_times if kind else 1))
        expansion = self._expanded(file.path, raw) if kind is None or kind.name == WITH_INCLUDES else None
        if kind is None and expansion:
            reading = Reading(source_file=file.path, file=file.path, text=expansion.text, marks=expansion.marks())
            return ReadLesson(path=file.path, file=file.path, size=file.size, file_hash=reading.digest, reading=reading)
        if kind is None:
            return ReadLesson(path=file.path, file=file.path, size=file.size, file_hash=file_hash(raw), raw=raw)
        digest = file_hash(raw if expansion is None else expansion.identity)
        raw = raw if expansion is None else expansion.text.encode()
        call = SandboxCall(
            call=partial(read_file, kind, file.path, raw), characters=len(raw), seconds=kind.seconds, most_bytes=kind.most_bytes
        )
        readings = self.store.get(file.path, digest, kind) or call
        return _FileRead(source=file, digest=digest, kind=kind, readings=readings, expansion=expansion)

    def _expanded(self, path: str, raw: bytes) -> Expansion | None:
        """The lesson together with what it includes; None where it includes nothing."""
        if not INCLUDE_HINT.search(raw):
            return None
        top = repository_of(self.root)

        def fetch(file: str, target: str) -> IncludedFile | str:
            found = read_included(self.root, top, file, target)
            if isinstance(found, str):
                return found
            try:
                return IncludedFile(path=found[0], text=decode(found[1], found[0]))
            except InvalidBook:
                return "it is not UTF-8 text"

        expansion = expand(path, decode(raw, path), fetch, most_characters=self.limit_bytes)
        if expansion is None:
            return None
        self.missing.extend(expansion.missing)
        return expansion if expansion.files else None

    def _run(self, calls: Sequence[SandboxCall[tuple[Reading, ...]]]) -> Iterator[tuple[Reading, ...] | Unreadable]:
        return self.sandbox.run(calls) if self.sandbox else (attempt(one.call) for one in calls)


def failure_of(path: str, why: Unreadable) -> Failure:
    """Why a lesson could not be read, in one sentence. An error about the text itself names the file already."""
    said = why.reason.removeprefix("cannot be read: ")
    return Failure(source_file=path, reason=f"{(said if said.startswith(path) else f'{path} {why.reason}').rstrip('.')}.")
