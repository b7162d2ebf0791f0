"""Restores a backup into an empty data folder, completely or not at all."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO

from filelock import FileLock, Timeout

from bythebook.database.engine import SCHEMA, database_url
from bythebook.errors import InvalidInput, InvalidSettings, Locked, StorageFailure
from bythebook.index.qdrant_edge.index import LOCK
from bythebook.operations.backup import CONTENTS, DATABASE, FORMAT, INDEX, Contents, StoredFile
from bythebook.plain import from_plain
from bythebook.settings import Settings
from bythebook.wiring.reader import make_folder

STAGING = ".restoring"
BLOCK_BYTES = 65_536
LONGEST_CONTENTS = 50_000_000


def restore_backup(settings: Settings, file: Path) -> Contents:
    """Unpacks everything into a folder of its own, compares it with its hashes, then moves it into place. Killed at any moment,
    it can be run again."""
    data_dir = settings.data_dir.expanduser()
    database = _database_file(settings, data_dir)
    make_folder(data_dir)
    staging = data_dir / STAGING
    _clear(data_dir, staging, database)
    try:
        staging.mkdir(mode=0o700)
        contents = _unpack(file, staging)
        _check(contents, settings, file)
        for part, place in ((INDEX, data_dir / INDEX), (DATABASE, database)):
            if place and (staging / part).exists():
                (staging / part).rename(place)
    except OSError as error:
        raise StorageFailure(f"The backup {file} cannot be restored to {data_dir} ({error.strerror}).") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return contents


def _database_file(settings: Settings, data_dir: Path) -> Path | None:
    """Where SQLite's file belongs; None with PostgreSQL."""
    scheme, _, place = database_url(settings.database_url.value if settings.database_url else None, data_dir).partition(":///")
    return Path(place) if scheme == "sqlite" else None


def _clear(data_dir: Path, staging: Path, database: Path | None) -> None:
    """Removes what a restore that was killed left behind: its staging folder, and perhaps an index that it had moved already."""
    killed = staging.exists()
    there = database if database and database.exists() else None
    if there is None and not killed and any((data_dir / INDEX).glob("*/manifest.json")):
        there = data_dir / INDEX
    if there:
        raise InvalidInput(
            f"There is a library already ({there}), and a backup replaces none. Move it away, or name another folder with "
            "--data-dir."
        )
    _check_free(data_dir / INDEX)
    shutil.rmtree(staging, ignore_errors=True)
    shutil.rmtree(data_dir / INDEX, ignore_errors=True)
    if database:  # left beside a deleted database: SQLite would add it to this one
        for beside in ("-wal", "-shm"):
            database.with_name(database.name + beside).unlink(missing_ok=True)


def _check_free(index: Path) -> None:
    """Raises where the data folder is in use. A server that was started before there was any book holds an empty index."""
    if not (index / LOCK).exists():
        return
    try:
        FileLock(index / LOCK).acquire(timeout=0).lock.release()
    except Timeout as error:
        raise Locked(f"A server or another command holds {index}. Stop it, then restore again.") from error


def _unpack(file: Path, staging: Path) -> Contents:
    unreadable = InvalidInput(f"{file} is not a complete backup of By the Book. Use another one.")
    found: dict[str, StoredFile] = {}
    told: bytes | None = None
    try:
        with tarfile.open(file, "r:gz") as archive:
            for member in archive:
                plain = member.isreg() and not member.issparse()  # a sparse one of a few bytes can be read for years
                opened = archive.extractfile(member) if plain else None
                if opened is None or not _is_ours(member.name):
                    raise unreadable
                if member.name == CONTENTS:
                    told = opened.read(LONGEST_CONTENTS)
                else:
                    found[member.name] = _write(opened, staging / member.name)
    except FileNotFoundError as error:
        raise InvalidInput(f"There is no file {file}.") from error
    except (tarfile.TarError, EOFError, zlib.error, IsADirectoryError, ValueError) as error:  # ValueError: an impossible name
        raise unreadable from error
    except OSError as error:
        if error.errno is None:  # not a gzip file, or its checksum is wrong
            raise unreadable from error
        raise
    return _read_contents(told, found, unreadable)


def _read_contents(told: bytes | None, found: dict[str, StoredFile], unreadable: InvalidInput) -> Contents:
    """Raises unless everything listed is there as it was written, and nothing else."""
    if told is None:
        raise unreadable
    try:
        contents = from_plain(Contents, json.loads(told))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise unreadable from error
    if contents.format == FORMAT and contents.files != found:
        raise unreadable
    return contents


def _check(contents: Contents, settings: Settings, file: Path) -> None:
    if contents.format > FORMAT or (contents.schema or "") > SCHEMA:
        raise InvalidInput(
            f"{file} was made by version {contents.version}, which is newer than this one. Upgrade By the Book, then restore it."
        )
    if contents.has_index and settings.qdrant_url:
        raise InvalidSettings(f"{file} holds an index, but QDRANT_URL is set. Unset it, and restore again.")
    if contents.schema and settings.database_url and not settings.database_url.value.startswith("sqlite"):
        raise InvalidSettings(f"{file} holds a SQLite database, but DATABASE_URL is PostgreSQL's. Unset it, and restore again.")


def _is_ours(name: str) -> bool:
    path = PurePosixPath(name)
    return name in (CONTENTS, DATABASE) or (path.parts[:1] == (INDEX,) and ".." not in path.parts and "\\" not in name)


def _write(opened: IO[bytes], place: Path) -> StoredFile:
    """Writes a file without its zeros, which then take no room: the engine's files are mostly zeros."""
    sha256, size = hashlib.sha256(), 0
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("wb") as written:
        place.chmod(0o600)
        while block := opened.read(BLOCK_BYTES):
            sha256.update(block)
            size += len(block)
            if block.count(0) == len(block):
                written.seek(size)
            else:
                written.write(block)
        written.truncate(size)
    return StoredFile(bytes=size, sha256=sha256.hexdigest())
