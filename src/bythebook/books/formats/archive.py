"""Zip archives that books come in, opened within limits: whatever their headers claim, no more is unpacked than a book needs."""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass

from bythebook.errors import InvalidBook

LARGEST_MEMBER = 50_000_000
LARGEST_TOTAL = 300_000_000
MOST_MEMBERS = 20_000
SMALL_MEMBER = 2_000_000
MOST_TIMES = 150
"""How many times its packed size a member may have, unless it is small. The text of books packs to a tenth, endless repetition
to a thousandth, which takes minutes to read and holds nothing."""
COMPOUND = b"\xd0\xcf\x11\xe0"
"""The first bytes of Office files before 2007, and of later ones that are protected by a password."""


@dataclass(slots=True)
class Archive:
    """An open archive. `what` is the kind of file, for messages."""

    file: zipfile.ZipFile
    what: str
    left: int = LARGEST_TOTAL

    def read(self, name: str) -> bytes | None:
        """The bytes of a member; None where there is none of that name."""
        try:
            with self.file.open(name) as member:
                raw = member.read(LARGEST_MEMBER + 1)
        except KeyError:
            return None
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
            raise InvalidBook(f"{name} in it cannot be unpacked ({error}); save or download the {self.what} again") from error
        self.left -= len(raw)
        if len(raw) > LARGEST_MEMBER or self.left < 0:
            raise InvalidBook(f"it unpacks to more than {min(LARGEST_MEMBER, LARGEST_TOTAL):,} bytes at {name}; split it")
        if len(raw) > max(SMALL_MEMBER, MOST_TIMES * self.file.getinfo(name).compress_size):
            raise InvalidBook(f"{name} in it repeats itself endlessly; remove the repetitions")
        return raw

    @property
    def names(self) -> list[str]:
        return self.file.namelist()


def open_archive(raw: bytes, what: str) -> Archive:
    if raw.startswith(COMPOUND):
        raise InvalidBook(f"it is a {what} from before 2007, or has a password; save it in today's format, without a password")
    try:
        file = zipfile.ZipFile(io.BytesIO(raw))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise InvalidBook(f"it is damaged or no {what} at all ({error}); save or download it again") from error
    if len(file.namelist()) > MOST_MEMBERS:
        raise InvalidBook(f"it holds more than {MOST_MEMBERS:,} files; split it")
    return Archive(file=file, what=what)
