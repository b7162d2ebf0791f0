"""A copy of an index in a folder that cannot be written, such as a read-only volume: the engine writes to whatever it opens."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bythebook.errors import Locked


def is_read_only(folder: Path) -> bool:
    return folder.is_dir() and not os.access(folder, os.W_OK)


def take_snapshot(folder: Path, lock: str, skipped: str) -> TemporaryDirectory[str]:
    """All collections as they stand at one moment. `lock` is the file that who writes holds; nothing that begins with `skipped`
    belongs to a collection."""
    made = TemporaryDirectory(prefix="bythebook-index-")
    try:
        with _shared(folder / lock):
            for collection in (path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(skipped)):
                _copy(collection, Path(made.name) / collection.name)
    except BaseException:
        made.cleanup()
        raise
    return made


def _copy(source: Path, target: Path) -> None:
    """Without the files' modes: the copy is written to."""
    for file in (path for path in source.rglob("*") if path.is_file()):
        place = target / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)


@contextmanager
def _shared(lock: Path) -> Iterator[None]:
    """Whoever may write there, another user perhaps, does not meanwhile."""
    import fcntl  # there is none on Windows, where every folder counts as writable

    try:
        descriptor = os.open(lock, os.O_RDONLY)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise Locked(f"The index in {lock.parent} is being written. Try again when that is done.") from error
    finally:
        os.close(descriptor)
