"""Finds and reads the lessons of a book's folder. The only module of `books` that touches the disk besides `booktoml`."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bythebook.books.formats.readers import MARKDOWN, PAGES, SUFFIXES, TEXT
from bythebook.books.model import PASSED_OVER, BookWarning
from bythebook.errors import InvalidBook, NotFound

SKIPPED_FOLDERS = frozenset({"node_modules", "build", "dist", "_build", "_site", "site-packages"})
MADE_BY_OTHERS = frozenset({"node_modules", "site-packages"})
DOCUMENTS = frozenset({
    ".adoc", ".asciidoc", ".doc", ".docx", ".epub", ".fb2", ".ipynb", ".key", ".mobi", ".odp", ".odt", ".org", ".pdf", ".ppt",
    ".pptx", ".rst", ".rtf", ".tex", ".textile", ".typ", ".wiki",
})  # fmt: skip
"""Endings of files that an author may mean as lessons, including formats that are not read."""
MADE_LAST = ((".ipynb",), PAGES, (".docx",), (".pptx",), (".epub",), (".pdf",))
"""Endings in the order in which files of one name are generated from each other."""
PAGE_FURNITURE = frozenset({
    "search", "genindex", "py-modindex", "modindex", "404", "print", "toc",
})  # fmt: skip
"""Names of pages that a site generator adds to a book; `print` is mdBook's second copy of the whole book."""
PAGE_FOLDERS = frozenset({
    "static", "templates", "overrides", "layouts", "partials", "includes", "theme", "themes", "assets", "public",
})  # fmt: skip
"""Folders whose HTML belongs to the site, not to the book."""
PICTURE_FOLDERS = frozenset({"fig", "figs", "figure", "figures", "graphics", "images", "img", "pictures", "plots"})
"""Folders whose PDF files are drawings."""
SPHINX_SETTINGS = "conf.py"
TEXTS_ARE_LESSONS = re.compile(rb"""^source_suffix\s*=[^#=]{0,200}?["']\.txt["']""", re.MULTILINE)
NO_LESSON = re.compile(r"(?:.*requirements.*|constraints|robots|humans|llms(?:-full)?|cmakelists)\.txt")
LEVELS_ABOVE = 6
LARGEST_INCLUDED = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A lesson's file: its path from the book's root, with forward slashes, and its size in bytes."""

    path: str
    size: int


def discover(root: Path) -> tuple[tuple[SourceFile, ...], tuple[BookWarning, ...]]:
    """Returns every lesson below `root`, sorted by path, and warnings about skipped files that an author may have meant as
    lessons."""
    require_book(root)
    if root.is_file():
        return (SourceFile(path=root.name, size=root.stat().st_size),), ()
    walk = _Walk(root)
    files = _preferred(sorted(walk.files(str(root), ""), key=lambda file: file.path))
    if not files:
        raise InvalidBook(f"{root} holds no lesson; a lesson is a file that ends in {', '.join(SUFFIXES)}.")
    return tuple(files), tuple(walk.warnings)


def passed_over(root: Path) -> tuple[BookWarning, ...]:
    """Warnings about what an author may miss: Markdown in a folder that usually holds generated files, and files of formats that
    are not read, each kind counted."""
    kinds: dict[str, list[str]] = {}
    for folder, folders, names in os.walk(root) if root.is_dir() else ():
        here = Path(folder).relative_to(root)
        made = next((part for part in here.parts if part in SKIPPED_FOLDERS), "")
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in MADE_BY_OTHERS)
        for name in sorted(names):
            ending = Path(name).suffix.lower()
            if made and ending in MARKDOWN:
                kinds.setdefault(f"{made}/", []).append((here / name).as_posix())
            elif not made and ending in DOCUMENTS and ending not in SUFFIXES:
                kinds.setdefault(ending, []).append((here / name).as_posix())
    return tuple(_passed(kind, paths) for kind, paths in sorted(kinds.items()))


def _passed(kind: str, paths: list[str]) -> BookWarning:
    if kind.endswith("/"):
        files = "1 Markdown file" if len(paths) == 1 else f"{len(paths):,} Markdown files"
        why = f"{files} in a folder called {kind}, which usually holds what a program made; rename it if these are lessons."
    else:
        files = f"1 {kind} file" if len(paths) == 1 else f"{len(paths):,} {kind} files"
        why = f"{files}, a format that is not read; export Markdown, HTML or PDF if these are lessons."
    shown = paths[0].encode("utf-8", "replace").decode()
    return BookWarning(source_file=shown, line=0, field=PASSED_OVER, message=why)


def _preferred(files: list[SourceFile]) -> list[SourceFile]:
    """Of files that differ only in their ending, the one that the others were generated from: a page's Markdown before its
    HTML."""
    best: dict[str, int] = {}
    for file in files:
        stem = file.path.rpartition(".")[0]
        best[stem] = min(best.get(stem, len(MADE_LAST)), _made(file.path))
    return [file for file in files if _made(file.path) == best[file.path.rpartition(".")[0]]]


def _made(path: str) -> int:
    """The file's rank in MADE_LAST; 0 for what an author writes by hand."""
    return next((place for place, suffixes in enumerate(MADE_LAST, start=1) if path.lower().endswith(suffixes)), 0)


def require_book(root: Path) -> None:
    """Raises unless it is a folder of lessons, or one file."""
    if not root.exists():
        raise NotFound(
            f"There is no file or folder {root}; give the folder that holds the book's lessons, or the book's one file."
        )
    if not root.is_dir() and not root.name.lower().endswith(SUFFIXES):
        raise InvalidBook(f"{root} is not a lesson; a lesson is a file that ends in {', '.join(SUFFIXES)}.")


def folder_of(root: Path) -> Path:
    """The folder that paths of lessons are relative to: for a book in one file, the folder that it is in."""
    return root.parent if root.is_file() else root


class _Walk:
    """One pass over the folder. Each folder is walked once, a linked one too unless the link leads back or out of the book."""

    def __init__(self, root: Path) -> None:
        self.real_root = os.path.realpath(root)
        self.warnings: list[BookWarning] = []
        self.linked: set[str] = set()

    def files(self, folder: str, prefix: str, *, texts: bool = False) -> Iterator[SourceFile]:
        """`texts`: files that end in .txt are lessons here."""
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if not prefix:
                raise InvalidBook(f"{folder} cannot be read ({error.strerror}); check its permissions.") from error
            self._warn(prefix.rstrip("/"), "folder", f"This folder cannot be read ({error.strerror}) and was skipped.")
            return
        texts = texts or any(_names_texts(entry) for entry in found if entry.name == SPHINX_SETTINGS)
        for entry in found:
            if entry.name.startswith("."):
                continue
            yield from self._entry(entry, prefix + entry.name, texts=texts)

    def _entry(self, entry: os.DirEntry[str], path: str, *, texts: bool) -> Iterator[SourceFile]:
        name = entry.name.lower()
        text = texts and name.endswith(TEXT) and not NO_LESSON.fullmatch(name)
        lesson = (text or name.endswith(SUFFIXES)) and not _is_furniture(path)
        if entry.is_symlink() and not self._follow(entry, path, lesson):
            return
        if entry.is_dir():
            if entry.name not in SKIPPED_FOLDERS:
                yield from self.files(entry.path, path + "/", texts=texts)
        elif lesson and entry.is_file():
            if _writable_as_text(path):
                yield SourceFile(path=path, size=entry.stat().st_size)
            else:
                shown = path.encode("utf-8", "replace").decode()
                self._warn(shown, "path", f"{shown}'s name is not valid UTF-8; rename it to have it read.")

    def _follow(self, entry: os.DirEntry[str], path: str, lesson: bool) -> bool:
        target = os.path.realpath(entry.path)
        if not Path(target).exists():
            if lesson:
                self._warn(
                    path,
                    "link",
                    f"{path} is a link that leads nowhere or in a circle; remove it, or link it to a file in the book.",
                )
            return False
        if not entry.is_dir() and not lesson:
            return False
        if target != self.real_root and not target.startswith(self.real_root + os.sep):
            self._warn(
                path, "link", f"{path} is a link that leads out of the book; remove it, or put the file itself into the book."
            )
            return False
        here = os.path.realpath(Path(entry.path).parent)
        if entry.is_dir() and (here == target or here.startswith(target + os.sep) or target in self.linked):
            self._warn(path, "link", f"{path} is a link back to a folder that is read already; remove it.")
            return False
        self.linked.add(target)
        return True

    def _warn(self, path: str, field: str, message: str) -> None:
        self.warnings.append(BookWarning(source_file=path, line=0, field=field, message=message))


def _names_texts(entry: os.DirEntry[str]) -> bool:
    """Whether Sphinx's settings name .txt as the ending of documents, as Django's do."""
    try:
        if not entry.is_file(follow_symlinks=False):
            return False
        with Path(entry.path).open("rb") as settings:
            return TEXTS_ARE_LESSONS.search(settings.read(200_000)) is not None
    except OSError:
        return False


def _is_furniture(path: str) -> bool:
    """Whether a file is not a page of the book: a page of its site, a drawing as PDF, or a file that Word leaves beside an open
    one."""
    *folders, name = path.lower().split("/")
    if name.startswith("~$"):
        return True
    if name.endswith(".pdf"):
        return not PICTURE_FOLDERS.isdisjoint(folders)
    if not name.endswith(PAGES):
        return False
    return name.partition(".")[0] in PAGE_FURNITURE or any(one.startswith("_") or one in PAGE_FOLDERS for one in folders)


def _writable_as_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def read_source(root: Path, path: str, *, limit_bytes: int = 10_000_000) -> bytes:
    """Reads the bytes of one lesson."""
    try:
        with (folder_of(root) / path).open("rb") as file:
            raw = file.read(limit_bytes + 1)
    except FileNotFoundError as error:
        raise InvalidBook(f"{path} vanished while the book was read; run the ingestion again.") from error
    except OSError as error:
        raise InvalidBook(f"{path} cannot be read ({error.strerror}); check its permissions.") from error
    if len(raw) > limit_bytes:
        remedy = "clear its outputs, or " if path.lower().endswith(".ipynb") else ""
        raise InvalidBook(f"{path} is larger than {limit_bytes:,} bytes; {remedy}split it into several lessons.")
    return raw


def read_beside(root: Path, path: str, *, limit_bytes: int) -> bytes | None:
    """The bytes of a small file that is not a lesson (book.toml and the like); None where there is none."""
    file = root / path
    if not file.is_symlink() and not file.exists():
        return None
    if not file.resolve().is_relative_to(root.resolve()):
        raise InvalidBook(f"{file} is a link that leads out of the book; remove it, or put the file itself into the book.")
    if not file.is_file():
        raise InvalidBook(f"{file} is not a file that can be read; make it a readable file or remove it.")
    try:
        with file.open("rb") as opened:
            raw = opened.read(limit_bytes + 1)
    except OSError as error:
        raise InvalidBook(f"{file} cannot be read ({error.strerror}); make it a readable file or remove it.") from error
    if len(raw) > limit_bytes:
        raise InvalidBook(f"{file} is larger than {limit_bytes:,} bytes; shorten it.")
    return raw


def repository_of(root: Path) -> Path | None:
    """The top of the repository that a book lies in, or else its own folder: files outside do not belong to the book. A book of
    one file that lies in no repository is that file alone."""
    folder = folder_of(root).resolve()
    tops = [one for one in (folder, *folder.parents[:LEVELS_ABOVE]) if (one / ".git").exists()]
    return tops[0] if tops else None if root.is_file() else folder


def read_included(root: Path, top: Path | None, file: str, target: str, *, beside_root: bool = False) -> tuple[str, bytes] | str:
    """The path and the bytes of the file that `target` names in a file of the book, or the reason why there is none. It is
    searched for beside that file, then in the folders above it, because generators resolve paths differently. Hidden files are
    never included. `beside_root`: the target is a path from the book's root."""
    if top is None:
        return "it lies outside the book"
    if "://" in target or "\0" in target:
        return "it is an address, and nothing is fetched"
    here = folder_of(root).resolve() if beside_root else (folder_of(root).resolve() / file).parent
    reason = "there is no such file"
    for folder in (here, *(above for above in here.parents if above.is_relative_to(top))):
        try:
            found = (folder / target.lstrip("/")).resolve()
            if not found.is_file():
                continue
            if not found.is_relative_to(top):
                reason = "it lies outside the book"
            elif any(part.startswith(".") for part in found.relative_to(top).parts):
                reason = "it is hidden"
            elif found.stat().st_size > LARGEST_INCLUDED:
                return f"it is larger than {LARGEST_INCLUDED:,} bytes"
            else:
                path = os.path.relpath(found, folder_of(root).resolve())
                return Path(path).as_posix(), found.read_bytes()
        except (OSError, ValueError, RuntimeError):  # a name that is too long, a link in a circle, no permission
            reason = "it cannot be read"
    return reason


def file_hash(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
