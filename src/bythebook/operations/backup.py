"""The library written to one file while it is in use: the database, and the index as it stood at the same moment.

The file is a compressed tar. Its last member, `backup.json`, lists the others with their sizes and hashes, so a backup without
it was never finished. What is not in the data folder (PostgreSQL, a Qdrant server) is not in the file.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import sqlite3
import tarfile
import threading
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from bythebook import __version__
from bythebook.database.audit import AuditLog, act
from bythebook.database.engine import SCHEMA
from bythebook.errors import InvalidInput, InvalidSettings, StorageFailure, Unavailable
from bythebook.index.manifest import served_books
from bythebook.index.qdrant_edge.index import EdgeIndex
from bythebook.wiring.author import Resources

CONTENTS = "backup.json"
DATABASE = "bythebook.db"
INDEX = "index"
FORMAT = 1
COUNTED = ("threads", "keys", "jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file in a backup, with its size and hash."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The description of a backup, stored in it. `schema`: the database's, or None where the backup has no database."""

    format: int
    version: str
    made_at: str
    schema: str | None
    has_index: bool
    counts: dict[str, int]
    files: dict[str, StoredFile] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """What a backup holds."""

    file: Path
    bytes: int
    made_at: str
    has_database: bool
    has_index: bool
    counts: dict[str, int]
    """Books, and with a database threads, keys and jobs."""


async def back_up(resources: Resources, *, file: Path) -> BackupReport:
    """Writes the backup. Nothing is published or removed while the files are copied; readers are answered meanwhile."""
    index = resources.index if isinstance(resources.index, EdgeIndex) else None
    if index is None and resources.database.file is None:
        raise InvalidSettings(
            "This library is in PostgreSQL and on a Qdrant server; the data folder holds no part of it. "
            "docs/backup.md has the commands for both."
        )
    writer = _Writer(file)
    try:
        async with resources.ingestion.swaps, resources.records.catalog_lock():
            if resources.database.file:
                writer.make_private(writer.database)
                await resources.database.copy_to(writer.database)
            counts = {"books": len(served_books(await resources.index.collections()))}
            report = await asyncio.to_thread(writer.write, index, counts)
    except asyncio.CancelledError:
        writer.stopped.set()  # the thread removes what it wrote
        raise
    finally:
        writer.database.unlink(missing_ok=True)
    await AuditLog(resources.database).write(act("backup made", file.name, bytes=report.bytes))
    return report


class _Writer:
    """Writes beside the file, which appears when it is complete."""

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            if file.exists():
                raise InvalidInput(f"{file} is there already. Name another file, or remove it first.")
            if not file.parent.is_dir():
                raise InvalidInput(f"There is no folder {file.parent} to write the backup to. Make it, or name another file.")
        except OSError as error:  # a name that is too long
            raise self._failure(error) from error
        own = f".bythebook-{token_hex(8)}"
        self._draft, self.database = file.with_name(f"{own}.part"), file.with_name(f"{own}.db")
        self.stopped = threading.Event()
        self._stored: dict[str, StoredFile] = {}

    def make_private(self, file: Path) -> None:
        """Makes an empty file that only its owner can read: the folder may be open to everybody, and the file will hold what
        readers asked."""
        try:
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> StorageFailure:
        return StorageFailure(f"The backup {self._file} cannot be written ({error.strerror}). No part of it was kept.")

    def write(self, index: EdgeIndex | None, counts: dict[str, int]) -> BackupReport:
        has_database = self.database.exists()
        contents = Contents(
            format=FORMAT,
            version=__version__,
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            schema=SCHEMA if has_database else None,
            has_index=index is not None,
            counts={**counts, **(_count(self.database) if has_database else {})},
        )
        self.make_private(self._draft)
        try:
            with self._draft.open("wb") as opened:
                # Level 1: the engine's files are mostly zeros, which any level makes small, and writers wait meanwhile.
                with tarfile.open(fileobj=opened, mode="w:gz", compresslevel=1) as archive:
                    self._fill(archive, index, contents)
                opened.flush()
                os.fsync(opened.fileno())
            if self.stopped.is_set():
                raise Unavailable("The backup was stopped.")
            self._draft.replace(self._file)
        except OSError as error:
            raise self._failure(error) from error
        finally:
            self._draft.unlink(missing_ok=True)
        return BackupReport(
            file=self._file,
            bytes=self._file.stat().st_size,
            made_at=contents.made_at,
            has_database=has_database,
            has_index=contents.has_index,
            counts=contents.counts,
        )

    def _fill(self, archive: tarfile.TarFile, index: EdgeIndex | None, contents: Contents) -> None:
        if contents.schema:
            self._add(archive, DATABASE, self.database)
        if index:
            index.copy_files(lambda name, file: self._add(archive, f"{INDEX}/{name}", file))
        told = json.dumps({**asdict(contents), "files": {name: asdict(one) for name, one in self._stored.items()}}).encode()
        member = tarfile.TarInfo(CONTENTS)
        member.size = len(told)
        archive.addfile(member, io.BytesIO(told))

    def _add(self, archive: tarfile.TarFile, name: str, file: Path) -> None:
        if self.stopped.is_set():
            raise Unavailable("The backup was stopped.")
        member = tarfile.TarInfo(name)
        member.size, member.mode = file.stat().st_size, 0o600
        with file.open("rb") as opened:
            hashed = _Hashed(opened)
            archive.addfile(member, hashed)
        self._stored[name] = StoredFile(bytes=member.size, sha256=hashed.sha256.hexdigest())


class _Hashed(io.RawIOBase):
    """A file that is hashed as it is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._opened = file
        self.sha256 = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        block = self._opened.read(size)
        self.sha256.update(block)
        return block


def _count(database: Path) -> dict[str, int]:
    with closing(sqlite3.connect(database)) as connection:
        return {name: int(connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]) for name in COUNTED}
